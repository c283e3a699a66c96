// SPDX-License-Identifier: Apache-2.0
// Writing TensorBoard event files.
#include "report/tensorboard.h"

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "core/format.h"
#include <protozero/pbf_writer.hpp>
#include <unistd.h>

namespace octet {
namespace tfrecord {
namespace {

constexpr uint32_t kCastagnoli = 0x82F63B78U; // reflected

std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit)
      c = (c & 1U) != 0 ? (c >> 1U) ^ kCastagnoli : c >> 1U;
    table[i] = c;
  }
  return table;
}

void append(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    out += static_cast<char>((value >> (8 * i)) & 0xFFU);
}

/// Event files store checksums turned and shifted, so that a checksum of data that holds
/// checksums stays good.
uint32_t masked(std::string_view data) {
  const uint32_t crc = crc32c(data);
  return ((crc >> 15U) | (crc << 17U)) + 0xA282EAD8U;
}

} // namespace

uint32_t crc32c(std::string_view data) {
  static const std::array<uint32_t, 256> kTable = make_table();
  uint32_t crc = ~0U;
  for (const char c : data)
    crc = kTable[(crc ^ static_cast<uint8_t>(c)) & 0xFFU] ^ (crc >> 8U);
  return ~crc;
}

std::string frame(std::string_view data) {
  std::string out;
  append(out, data.size(), 8);
  append(out, masked(out), 4);
  out += data;
  append(out, masked(data), 4);
  return out;
}

std::string scalar_event(double wall_time, int64_t step, std::string_view tag, float value) {
  std::string event;
  protozero::pbf_writer writer(event);
  writer.add_double(1, wall_time);
  writer.add_int64(2, step);
  protozero::pbf_writer summary(writer, 5);
  protozero::pbf_writer point(summary, 1);
  point.add_string(1, tag.data(), tag.size());
  point.add_float(2, value);
  point.commit();
  summary.commit();
  return event;
}

} // namespace tfrecord

namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

class EventFileWriter final : public TensorBoardWriter {
 public:
  EventFileWriter(std::string path, std::ofstream file)
      : path_(std::move(path)), file_(std::move(file)) {}

  Status scalar(std::string_view tag, int64_t step, double value) override {
    return write(tfrecord::scalar_event(now_seconds(), step, tag, static_cast<float>(value)));
  }
  Status write(std::string_view event) {
    const std::string record = tfrecord::frame(event);
    file_.write(record.data(), static_cast<std::streamsize>(record.size()));
    file_.flush();
    if (file_) return ok_status();
    return error("cannot write {}; is the disk full?", path_);
  }
  const std::string& path() const override { return path_; }

 private:
  std::string path_;
  std::ofstream file_;
};

} // namespace

Result<std::unique_ptr<TensorBoardWriter>> TensorBoardWriter::create(const std::string& folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) return error("cannot make the folder {}: {}", folder, code.message());
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  const std::string path = (std::filesystem::path(folder) /
                            fmt::format("events.out.tfevents.{:010}.{}.{}",
                                        static_cast<int64_t>(now_seconds()), host.data(), getpid()))
                               .string();
  std::ofstream file(path, std::ios::binary | std::ios::app);
  if (!file) return error("cannot write {}; is the folder writable?", path);
  auto writer = std::make_unique<EventFileWriter>(path, std::move(file));
  std::string version;
  protozero::pbf_writer event(version);
  event.add_double(1, now_seconds());
  event.add_string(3, "brain.Event:2");
  OCTET_TRY(writer->write(version));
  return std::unique_ptr<TensorBoardWriter>(std::move(writer));
}

} // namespace octet

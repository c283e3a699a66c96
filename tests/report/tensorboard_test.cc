// SPDX-License-Identifier: Apache-2.0
// Event files against published checksums and against bytes worked out from the schema.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "report/tensorboard.h"
#include "support/paths.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

uint64_t little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;)
    value = (value << 8) | static_cast<uint8_t>(bytes[i]);
  return value;
}

// RFC 3720, B.4, and the catalogue's check value.
TEST(TensorBoard, ChecksumHasThePublishedValues) {
  EXPECT_EQ(tfrecord::crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(tfrecord::crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(tfrecord::crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
}

TEST(TensorBoard, EncodesAnEventAsTheSchemaSays) {
  const std::string event = tfrecord::scalar_event(1.5, 300, "loss", 0.25F);
  const std::string expected("\x09\x00\x00\x00\x00\x00\x00\xF8\x3F" // wall_time = 1: fixed64
                             "\x10\xAC\x02"                         // step = 2: varint 300
                             "\x2A\x0D"                             // summary = 5
                             "\x0A\x0B"                             // value = 1
                             "\x0A\x04loss"                         // tag = 1
                             "\x15\x00\x00\x80\x3E",                // simple_value = 2: fixed32
                             9 + 3 + 2 + 2 + 6 + 5);
  EXPECT_EQ(event, expected);
}

TEST(TensorBoard, WritesRecordsThatReadBack) {
  const std::string folder = std::string(test::build_dir()) + "/test_tensorboard";
  std::filesystem::remove_all(folder);
  const auto writer = TensorBoardWriter::create(folder).value();
  for (int step = 0; step < 3; ++step)
    ASSERT_TRUE(writer->scalar("train/loss", step, 1.0 / (step + 1)).ok());
  std::ifstream file(writer->path(), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  size_t at = 0, records = 0;
  while (at < bytes.size()) {
    const uint64_t length = little_endian(bytes.substr(at, 8));
    ASSERT_LE(at + 16 + length, bytes.size());
    const std::string data = bytes.substr(at + 12, length);
    EXPECT_EQ(bytes.substr(at, 16 + length), tfrecord::frame(data));
    at += 16 + length;
    ++records;
  }
  EXPECT_EQ(records, 4u); // the version, then the points
  EXPECT_NE(bytes.find("brain.Event:2"), std::string::npos);
}

TEST(TensorBoard, NamesAFolderThatCannotBeMade) {
  const auto writer = TensorBoardWriter::create("/proc/nothing/here");
  ASSERT_FALSE(writer.ok());
  EXPECT_NE(writer.error().text().find("/proc/nothing/here"), std::string::npos);
}

} // namespace
} // namespace octet

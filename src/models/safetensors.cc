// SPDX-License-Identifier: Apache-2.0
#include "models/safetensors.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/format.h"
#include "core/json.h"
#include <nlohmann/json.hpp>

namespace octet {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000; // the format's own bound
constexpr size_t kMaxRank = 64;

constexpr std::pair<const char*, DType> kTypes[] = {{"F64", DType::kFloat64},
                                                    {"F32", DType::kFloat32},
                                                    {"F16", DType::kFloat16},
                                                    {"BF16", DType::kBfloat16},
                                                    {"F8_E4M3", DType::kFloat8E4M3FN},
                                                    {"F8_E5M2", DType::kFloat8E5M2},
                                                    {"I64", DType::kInt64},
                                                    {"I32", DType::kInt32},
                                                    {"I16", DType::kInt16},
                                                    {"I8", DType::kInt8},
                                                    {"U64", DType::kUint64},
                                                    {"U32", DType::kUint32},
                                                    {"U16", DType::kUint16},
                                                    {"U8", DType::kUint8},
                                                    {"BOOL", DType::kBool}};

/// Parses with a bound on depth and an error for a key that comes twice.
class SafetensorsHeader {
 public:
  Result<Json> parse(std::string_view text) {
    Json json = Json::parse(
        text,
        [&](int depth, Json::parse_event_t event, Json& value) { return see(depth, event, value); },
        false);
    if (!problem_.empty()) return Error(problem_);
    if (!json.is_object()) return Error("the header is no JSON object; the file is damaged");
    return json;
  }

 private:
  bool see(int depth, Json::parse_event_t event, const Json& value) {
    if (depth > 3) problem_ = "the header is nested deeper than the format allows";
    if (event == Json::parse_event_t::key && depth == 1 &&
        !names_.insert(value.get<std::string>()).second)
      problem_ = fmt::format("tensor \"{}\" is there twice; write the file again",
                             value.get<std::string>());
    return problem_.empty();
  }

  std::set<std::string> names_;
  std::string problem_;
};

struct Entry {
  std::string name;
  DType type = DType::kUndefined;
  Shape shape;
  uint64_t begin = 0, end = 0;
};

Result<uint64_t> natural(const Json& json, const char* what) {
  if (!json.is_number_unsigned()) return error("its {} is no whole number of at least 0", what);
  return json.get<uint64_t>();
}

Result<Entry> read_entry(const Json& json, uint64_t data_bytes) {
  if (!json.is_object() || !json.contains("dtype") || !json.contains("shape") ||
      !json.contains("data_offsets"))
    return Error("it wants dtype, shape and data_offsets");
  Entry out;
  const Json &dtype = json["dtype"], &shape = json["shape"], &offsets = json["data_offsets"];
  for (const auto& [name, type] : kTypes)
    if (dtype == name) out.type = type;
  if (out.type == DType::kUndefined)
    return error(ErrorCode::kUnsupported, "its dtype is {}, which octet does not read",
                 dtype.is_string() ? dtype.get<std::string>() : "no text");
  if (!shape.is_array() || shape.size() > kMaxRank)
    return error("its shape is no list of at most {} numbers", kMaxRank);
  for (const Json& d : shape) {
    const uint64_t size = OCTET_TRY(natural(d, "dimension"));
    if (size > uint64_t{INT64_MAX}) return error("its dimension {} is too large", size);
    out.shape.push_back(static_cast<int64_t>(size));
  }
  if (!offsets.is_array() || offsets.size() != 2) return Error("data_offsets are no two numbers");
  out.begin = OCTET_TRY(natural(offsets[0], "begin"));
  out.end = OCTET_TRY(natural(offsets[1], "end"));
  if (out.begin > out.end || out.end > data_bytes)
    return error(
        "it lies at {} .. {}, the file has {} bytes of tensors; it is cut short or damaged",
        out.begin, out.end, data_bytes);
  const int64_t count = OCTET_TRY(element_count(out.shape));
  const int width = bits(out.type) / 8;
  if (static_cast<uint64_t>(count) > data_bytes / static_cast<uint64_t>(width) ||
      static_cast<uint64_t>(count) * static_cast<uint64_t>(width) != out.end - out.begin)
    return error("its shape {} of {} does not take the {} bytes it has", to_string(out.shape),
                 name(out.type), out.end - out.begin);
  return out;
}

/// The format has no holes and no overlaps.
Status check_places(const std::vector<Entry>& entries, uint64_t data_bytes) {
  uint64_t at = 0;
  for (const Entry& e : entries) {
    if (e.begin != at)
      return error("tensor \"{}\" begins at {}, the one before it ends at {}; the file is damaged",
                   e.name, e.begin, at);
    at = e.end;
  }
  if (at != data_bytes)
    return error("the tensors take {} bytes, the file has {}; it is damaged", at, data_bytes);
  return ok_status();
}

Result<std::vector<NamedWeight>> parse(const std::shared_ptr<const Buffer>& buffer) {
  const uint64_t size_bytes = buffer->bytes().size();
  if (size_bytes < kLengthBytes) return error("{} bytes are no safetensors file", size_bytes);
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, buffer->bytes().data(), kLengthBytes);
  if (header_bytes > kMaxHeaderBytes || header_bytes > size_bytes - kLengthBytes)
    return error("a header of {} bytes in a file of {}; it is no safetensors file or cut short",
                 header_bytes, size_bytes);
  const std::string_view text(reinterpret_cast<const char*>(buffer->bytes().data()) + kLengthBytes,
                              header_bytes);
  const Json header = OCTET_TRY(SafetensorsHeader().parse(text));
  const uint64_t start = kLengthBytes + header_bytes, data_bytes = size_bytes - start;
  std::vector<Entry> entries;
  for (const auto& [key, value] : header.items()) {
    if (key == "__metadata__") continue;
    entries.push_back(
        OCTET_TRY_WITH(read_entry(value, data_bytes), fmt::format("tensor \"{}\"", key)));
    entries.back().name = key;
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  OCTET_TRY(check_places(entries, data_bytes));
  std::vector<NamedWeight> out;
  out.reserve(entries.size());
  for (Entry& e : entries)
    out.push_back({e.name, OCTET_TRY(Tensor::view(e.type, e.shape, buffer, start + e.begin))});
  return out;
}

} // namespace

Result<std::vector<NamedWeight>> parse_safetensors(const std::shared_ptr<const Buffer>& buffer,
                                                   const std::string& name) {
  return parse(buffer).with(name);
}

Result<std::vector<NamedWeight>> read_safetensors(const std::string& path) {
  return parse_safetensors(OCTET_TRY(Buffer::map(path)), path);
}

Status write_safetensors(const std::string& path,
                         const std::vector<NamedWeight>& weights,
                         Overwrite overwrite) {
  nlohmann::ordered_json header = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t at = 0;
  for (const NamedWeight& w : weights) {
    const char* type = nullptr;
    for (const auto& [text, each] : kTypes)
      if (each == w.tensor.type()) type = text;
    if (type == nullptr)
      return error("{}: tensor \"{}\" is {}, for which safetensors has no name", path, w.name,
                   name(w.tensor.type()));
    const uint64_t end = at + w.tensor.bytes().size();
    header[w.name] = {{"dtype", type}, {"shape", w.tensor.shape()}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = json_text(header, -1);
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');
  const uint64_t length = text.size();
  AtomicFile file = OCTET_TRY(AtomicFile::create(path, overwrite));
  OCTET_TRY(file.write(std::string_view(reinterpret_cast<const char*>(&length), kLengthBytes)));
  OCTET_TRY(file.write(text));
  for (const NamedWeight& w : weights)
    OCTET_TRY(file.write(w.tensor.bytes()));
  return file.commit();
}

} // namespace octet

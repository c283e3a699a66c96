// SPDX-License-Identifier: Apache-2.0
// Where a tensor's values may lie, and how wide an element is in each place. Source: onnx.proto,
// TensorProto.
#include "onnx/read_tensor.h"

#include <charconv>
#include <cstring>

#include "core/format.h"
#include "onnx/schema.h"

namespace octet::onnx {
namespace {

struct TensorFields {
  std::string name;
  std::string others; ///< fields that this reader does not know, each with its tag
  Shape dims;
  DType type = DType::kUndefined;
  bool has_raw = false, is_external = false;
  Bytes raw;
  std::vector<Bytes> fixed;       ///< float_data or double_data
  uint32_t typed_field = 0;       ///< the one typed field in use
  std::vector<uint64_t> integers; ///< int32_data, int64_data or uint64_data
  std::vector<std::string> strings;
  std::string location;
  int64_t offset = 0, length = -1;
};

Result<int64_t> parse_integer(const std::string& key, const std::string& text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, value);
  if (failed != std::errc() || stop != end || value < 0)
    return error("external data: {} is \"{}\", expected a number of bytes", key, text);
  return value;
}

Status read_external(Bytes message, const Source& source, TensorFields& out) {
  auto [key, value] = OCTET_TRY(read_entry(message, source));
  if (key == "offset") out.offset = OCTET_TRY(parse_integer(key, value));
  if (key == "length") out.length = OCTET_TRY(parse_integer(key, value));
  if (key == "location") out.location = std::move(value);
  return ok_status();
}

Status use_typed(TensorFields& out, uint32_t field) {
  if (out.typed_field != 0 && out.typed_field != field)
    return error("has values in the fields {} and {}; only one is allowed", out.typed_field, field);
  out.typed_field = field;
  return ok_status();
}

Status read_values(Reader& reader, TensorFields& out) {
  OCTET_TRY(use_typed(out, reader.field()));
  switch (reader.field()) {
  case tensor_proto::kFloatData:
    reader.fixed_run(WireType::kFixed32, [&](Bytes run) { out.fixed.push_back(run); });
    break;
  case tensor_proto::kDoubleData:
    reader.fixed_run(WireType::kFixed64, [&](Bytes run) { out.fixed.push_back(run); });
    break;
  case tensor_proto::kStringData:
    out.strings.push_back(reader.text());
    break;
  default:
    reader.each_integer([&](uint64_t value) { out.integers.push_back(value); });
  }
  return ok_status();
}

Status read_field(Reader& reader, const Source& source, TensorFields& out) {
  switch (reader.field()) {
  case tensor_proto::kDims:
    reader.each_integer([&](uint64_t d) { out.dims.push_back(static_cast<int64_t>(d)); });
    break;
  case tensor_proto::kDataType: {
    const int64_t code = reader.integer();
    if (code < 0 || code > INT32_MAX || !is_valid(static_cast<int32_t>(code)))
      return error("data_type {} is no element type of ONNX", code);
    out.type = static_cast<DType>(code);
    break;
  }
  case tensor_proto::kSegment:
    return error(ErrorCode::kUnsupported, "is one segment of a tensor; write the tensor whole");
  case tensor_proto::kFloatData:
  case tensor_proto::kInt32Data:
  case tensor_proto::kStringData:
  case tensor_proto::kInt64Data:
  case tensor_proto::kDoubleData:
  case tensor_proto::kUint64Data:
    return read_values(reader, out);
  case tensor_proto::kName:
    out.name = reader.text();
    break;
  case tensor_proto::kRawData:
    out.has_raw = true;
    out.raw = reader.bytes();
    break;
  case tensor_proto::kExternalData:
    return read_external(reader.bytes(), source, out);
  case tensor_proto::kDataLocation:
    out.is_external = reader.integer() == 1;
    break;
  default:
    out.others.append(reader.raw());
  }
  return ok_status();
}

/// The typed field that values of a type lie in.
uint32_t field_of(DType type) {
  switch (type) {
  case DType::kFloat32:
  case DType::kComplex64:
    return tensor_proto::kFloatData;
  case DType::kFloat64:
  case DType::kComplex128:
    return tensor_proto::kDoubleData;
  case DType::kInt64:
    return tensor_proto::kInt64Data;
  case DType::kUint32:
  case DType::kUint64:
    return tensor_proto::kUint64Data;
  case DType::kString:
    return tensor_proto::kStringData;
  default:
    return tensor_proto::kInt32Data;
  }
}

Error wrong_count(int64_t count, const char* unit, size_t found) {
  return error("needs {} {}, found {}", count, unit, found);
}

Result<Tensor> from_fixed(const TensorFields& f, int64_t size_bytes, const Source& source) {
  size_t total = 0;
  for (const Bytes run : f.fixed)
    total += run.size();
  if (total != static_cast<size_t>(size_bytes))
    return wrong_count(size_bytes, "bytes of values", total);
  if (f.fixed.size() == 1)
    return Tensor::view(f.type, f.dims, source.buffer, source.offset(f.fixed.front()));
  Tensor out = OCTET_TRY(Tensor::zeros(f.type, f.dims));
  std::byte* to = out.mutable_bytes().data();
  for (const Bytes run : f.fixed) {
    std::memcpy(to, run.data(), run.size());
    to += run.size();
  }
  return out;
}

/// Elements of 8 bits and more are one integer each; of 4 and 2 bits a packed byte is; of 6 bits
/// each is one integer, packed here.
Result<Tensor> from_integers(const TensorFields& f, int64_t count, int64_t size_bytes) {
  const int width = bits(f.type);
  const bool packs = width == 6;
  const int stored_bits = width < 8 && !packs ? 8 : width;
  const int64_t stored = width < 8 && !packs ? size_bytes : count;
  if (static_cast<uint64_t>(stored) != f.integers.size())
    return wrong_count(stored, "integers", f.integers.size());
  Tensor out = OCTET_TRY(Tensor::zeros(f.type, f.dims));
  std::byte* to = out.mutable_bytes().data();
  for (size_t i = 0; i < f.integers.size(); ++i) {
    const uint64_t value = f.integers[i];
    const auto as_signed = static_cast<int64_t>(value);
    if (stored_bits < 64 &&
        (as_signed < -(int64_t{1} << (stored_bits - 1)) || as_signed >= int64_t{1} << stored_bits))
      return error("value {} is {}, which {} bits do not hold", i, as_signed, stored_bits);
    if (!packs) {
      std::memcpy(to + i * static_cast<size_t>(stored_bits / 8), &value,
                  static_cast<size_t>(stored_bits / 8));
      continue;
    }
    const size_t bit = i * 6;
    const auto shifted = static_cast<unsigned>((value & 63) << (bit % 8));
    to[bit / 8] |= static_cast<std::byte>(shifted & 255);
    if (shifted > 255) to[bit / 8 + 1] |= static_cast<std::byte>(shifted >> 8);
  }
  return out;
}

Result<Tensor> from_external(const TensorFields& f, int64_t size_bytes, const Source& source) {
  if (f.type == DType::kString) return error("strings cannot be external data");
  if (source.external == nullptr) return error("external data is not allowed here");
  if (f.length >= 0 && f.length != size_bytes)
    return error("external data \"{}\": length is {}, {}{} takes {} bytes", f.location, f.length,
                 octet::name(f.type), to_string(f.dims), size_bytes);
  if (size_bytes == 0) return Tensor::zeros(f.type, f.dims);
  std::shared_ptr<const Buffer> file = OCTET_TRY(source.external->open(f.location));
  const auto available = static_cast<int64_t>(file->bytes().size());
  if (f.offset > available || size_bytes > available - f.offset)
    return error(
        "external data \"{}\": {} bytes from offset {} pass the end of the file of {} bytes",
        f.location, size_bytes, f.offset, available);
  return Tensor::view(f.type, f.dims, std::move(file), static_cast<size_t>(f.offset));
}

Result<Tensor> make_tensor(TensorFields& f, const Source& source) {
  if (f.type == DType::kUndefined) return error("has no data_type");
  const int64_t count = OCTET_TRY(element_count(f.dims));
  if (f.type == DType::kString && !f.is_external) {
    if (f.has_raw) return error("strings cannot be raw data");
    if (static_cast<uint64_t>(count) != f.strings.size())
      return wrong_count(count, "strings", f.strings.size());
    return Tensor::strings(f.dims, std::move(f.strings));
  }
  const int64_t size_bytes = bytes_for(f.type, count);
  if (size_bytes < 0 || size_bytes > int64_t{1} << 56)
    return error("{}{} is too large", octet::name(f.type), to_string(f.dims));
  if (f.is_external) return from_external(f, size_bytes, source);
  if (f.has_raw && f.typed_field != 0 && !(f.raw.empty() && count > 0))
    return error("has raw_data and values in field {}; only one is allowed", f.typed_field);
  if (f.typed_field != 0 && f.typed_field != field_of(f.type))
    return error("{} values lie in field {}, found field {}", octet::name(f.type), field_of(f.type),
                 f.typed_field);
  if (f.typed_field == tensor_proto::kFloatData || f.typed_field == tensor_proto::kDoubleData)
    return from_fixed(f, size_bytes, source);
  if (f.typed_field != 0) return from_integers(f, count, size_bytes);
  if (f.raw.size() != static_cast<uint64_t>(size_bytes))
    return error("{}{} takes {} bytes, raw_data has {}", octet::name(f.type), to_string(f.dims),
                 size_bytes, f.raw.size());
  if (size_bytes == 0) return Tensor::zeros(f.type, f.dims);
  return Tensor::view(f.type, f.dims, source.buffer, source.offset(f.raw));
}

} // namespace

Result<std::pair<std::string, std::string>> read_entry(Bytes message, const Source& source) {
  std::pair<std::string, std::string> out;
  Reader reader = source.reader(message);
  while (reader.next()) {
    if (reader.field() == entry::kKey) out.first = reader.text();
    if (reader.field() == entry::kValue) out.second = reader.text();
  }
  OCTET_TRY(reader.finish());
  return out;
}

Result<ReadTensor> read_tensor(Bytes message, const Source& source) {
  TensorFields fields;
  Reader reader = source.reader(message);
  Status status = ok_status();
  while (status.ok() && reader.next())
    status = read_field(reader, source, fields);
  if (status.ok()) status = reader.finish();
  const auto frame = [&] { return fmt::format("tensor \"{}\"", fields.name); };
  OCTET_TRY_WITH(std::move(status), frame());
  Tensor tensor = OCTET_TRY_WITH(make_tensor(fields, source), frame());
  return ReadTensor{std::move(fields.name), std::move(tensor), std::move(fields.others)};
}

} // namespace octet::onnx

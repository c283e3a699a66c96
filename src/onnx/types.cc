// SPDX-License-Identifier: Apache-2.0
// A dimension is a value, a parameter or nothing. A parameter that reads as an expression ("seq +
// 2") becomes one; "?" means unknown, as exporters use it. Source: onnx.proto, TypeProto.
#include "onnx/types.h"

#include "core/format.h"
#include "graph/serialized.h"
#include "onnx/schema.h"

namespace octet::onnx {
namespace {

/// Longer parameters are names, not expressions: products of sums grow when multiplied out.
constexpr size_t kLongestExpression = 64;

Dim read_parameter(std::string_view text) {
  if (text.empty() || text == "?") return Dim::unknown();
  if (text.size() <= kLongestExpression) {
    const Result<Dim> parsed = Dim::parse(text);
    if (parsed.ok() && parsed->is_known() && parsed->text() == text) return *parsed;
  }
  return Dim::symbol(std::string(text));
}

Result<Dim> read_dim(Bytes message, const Source& source) {
  Dim dim;
  Reader reader = source.reader(message);
  while (reader.next()) {
    if (reader.field() == dimension::kParameter) dim = read_parameter(reader.bytes());
    if (reader.field() == dimension::kValue) {
      const int64_t value = reader.integer();
      dim = value < 0 ? Dim::unknown() : Dim(value);
    }
  }
  OCTET_TRY(reader.finish());
  return dim;
}

Result<std::vector<Dim>> read_shape(Bytes message, const Source& source) {
  std::vector<Dim> shape;
  Reader reader = source.reader(message);
  while (reader.next())
    if (reader.field() == shape_proto::kDim)
      shape.push_back(OCTET_TRY(read_dim(reader.bytes(), source)));
  OCTET_TRY(reader.finish());
  return shape;
}

Result<TypeInfo> read_tensor_type(Bytes message, const Source& source) {
  TypeInfo type;
  Reader reader = source.reader(message);
  while (reader.next()) {
    if (reader.field() == tensor_type_proto::kElement) {
      const int64_t code = reader.integer();
      if (code < 0 || code > INT32_MAX || (code != 0 && !is_valid(static_cast<int32_t>(code))))
        return error("element type {} is none of ONNX", code);
      type.type = static_cast<DType>(code);
    } else if (reader.field() == tensor_type_proto::kShape) {
      type.shape = OCTET_TRY(read_shape(reader.bytes(), source));
    }
  }
  OCTET_TRY(reader.finish());
  return type;
}

bool same_dim(const Dim& a, const Dim& b) {
  return a == b || (!a.is_known() && !b.is_known());
}

/// True when the type as read says of a value what `type` says; a constant's own shape has no
/// symbols, so there dimensions need only not disagree.
bool says_the_same(const TypeInfo& read, const Value& value) {
  const TypeInfo& type = value.type;
  if (!type.opaque.empty() || !read.opaque.empty()) return read.opaque == type.opaque;
  if (read.type != type.type) return false;
  const bool may_be_vague = value.is_constant();
  if (!read.shape || !type.shape)
    return read.shape.has_value() == type.shape.has_value() || (may_be_vague && !read.shape);
  if (read.shape->size() != type.shape->size()) return false;
  for (size_t i = 0; i < read.shape->size(); ++i) {
    const Dim& dim = (*read.shape)[i];
    if (same_dim(dim, (*type.shape)[i]) || (may_be_vague && !dim.is_constant())) continue;
    return false;
  }
  return true;
}

std::string as_field(std::string_view message) {
  Encoder out;
  out.bytes(value_info::kType, message);
  return out.str();
}

} // namespace

bool ReadType::says_something() const {
  return !encode_type(type).empty() || (!as_read.empty() && as_read != as_field(""));
}

Result<ReadType> read_type(Reader& field, const Source& source) {
  const Bytes message = field.bytes();
  ReadType out;
  bool is_tensor = false, is_other = false;
  Reader reader = source.reader(message);
  while (reader.next()) {
    if (reader.field() == type_proto::kTensor) {
      is_tensor = true;
      out.type = OCTET_TRY(read_tensor_type(reader.bytes(), source));
    } else if (reader.field() != type_proto::kDenotation) {
      is_other = true;
    }
  }
  OCTET_TRY(reader.finish());
  if (is_tensor && is_other) return error("is a tensor and something else");
  if (is_other) {
    out.type = {};
    out.type.opaque = std::string(message);
  } else if (encode_type(out.type) != field.raw()) {
    out.as_read = std::string(field.raw());
  }
  return out;
}

std::string encode_type(const TypeInfo& type) {
  if (!type.opaque.empty()) return as_field(type.opaque);
  if (type.type == DType::kUndefined && !type.shape) return {};
  Encoder tensor;
  if (type.type != DType::kUndefined)
    tensor.integer(tensor_type_proto::kElement, static_cast<int64_t>(type.type));
  if (type.shape) {
    Encoder shape;
    for (const Dim& dim : *type.shape) {
      Encoder encoded;
      if (dim.is_constant())
        encoded.integer(dimension::kValue, dim.value());
      else if (dim.is_known())
        encoded.bytes(dimension::kParameter, dim.text());
      shape.message(shape_proto::kDim, encoded);
    }
    tensor.message(tensor_type_proto::kShape, shape);
  }
  Encoder message;
  message.message(type_proto::kTensor, tensor);
  return as_field(message.str());
}

std::string type_to_write(const Value& value) {
  const std::string& as_read = serialized(value).type;
  if (as_read.empty()) return encode_type(value.type);
  const auto bytes = std::as_bytes(std::span<const char>(as_read));
  const Source source{Buffer::borrow(bytes), nullptr};
  Reader field = source.reader(source.all());
  if (!field.next()) return encode_type(value.type);
  const Result<ReadType> read = read_type(field, source);
  return read.ok() && says_the_same(read->type, value) ? as_read : encode_type(value.type);
}

} // namespace octet::onnx

// SPDX-License-Identifier: Apache-2.0
// Attribute to AttributeProto. Source: onnx.proto, AttributeProto.
#include "onnx/write_attribute.h"

#include "core/format.h"
#include "graph/serialized.h"
#include "onnx/schema.h"

namespace octet::onnx {
namespace {

namespace kind = attribute_type;

/// The fields of tensor `index` that the reader kept.
std::string_view fields_of(const Attribute& attribute, size_t index) {
  const std::vector<std::string>& all = serialized_tensors(attribute).fields;
  return index < all.size() ? std::string_view(all[index]) : std::string_view();
}

/// Writes the value and returns its AttributeType.
struct ValueWriter {
  Encoder& out;
  const Attribute& attribute;
  const Names& names;
  ExternalPlan* external;

  using Kind = Result<int32_t>;

  Kind operator()(std::monostate) const { return attribute.onnx_type; }
  Kind operator()(int64_t v) const {
    out.integer(attribute::kInt, v);
    return kind::kInt;
  }
  Kind operator()(float v) const {
    out.float32(attribute::kFloat, v);
    return kind::kFloat;
  }
  Kind operator()(const std::string& v) const {
    out.bytes(attribute::kString, v);
    return kind::kString;
  }
  Kind operator()(const Tensor& v) const {
    out.message(attribute::kTensor, encode_tensor(v, {}, fields_of(attribute, 0), nullptr));
    return kind::kTensor;
  }
  Kind operator()(const GraphPtr& v) const {
    if (!v) return error("holds no graph");
    out.message(attribute::kGraph, OCTET_TRY(encode_graph(*v, &names, external)));
    return kind::kGraph;
  }
  Kind operator()(const std::vector<int64_t>& v) const {
    for (const int64_t item : v)
      out.integer(attribute::kInts, item);
    return kind::kInts;
  }
  Kind operator()(const std::vector<float>& v) const {
    for (const float item : v)
      out.float32(attribute::kFloats, item);
    return kind::kFloats;
  }
  Kind operator()(const std::vector<std::string>& v) const {
    for (const std::string& item : v)
      out.bytes(attribute::kStrings, item);
    return kind::kStrings;
  }
  Kind operator()(const std::vector<Tensor>& v) const {
    for (size_t i = 0; i < v.size(); ++i)
      out.message(attribute::kTensors, encode_tensor(v[i], {}, fields_of(attribute, i), nullptr));
    return kind::kTensors;
  }
  Kind operator()(const std::vector<GraphPtr>& v) const {
    for (const GraphPtr& item : v) {
      if (!item) return error("holds no graph");
      out.message(attribute::kGraphs, OCTET_TRY(encode_graph(*item, &names, external)));
    }
    return kind::kGraphs;
  }
  Kind operator()(const std::shared_ptr<const SerializedAttribute>& v) const {
    if (!v) return error("holds no sparse tensor or type");
    switch (v->field) {
    case attribute::kSparses:
      out.raw(v->bytes);
      return kind::kSparses;
    case attribute::kTypes:
      out.raw(v->bytes);
      return kind::kTypes;
    case attribute::kSparse:
      out.bytes(attribute::kSparse, v->bytes);
      return kind::kSparse;
    case attribute::kType:
      out.bytes(attribute::kType, v->bytes);
      return kind::kType;
    default:
      return error(ErrorCode::kInternal, "keeps field {}, which is none of an attribute", v->field);
    }
  }
};

} // namespace

Result<Encoder> encode_attribute(std::string_view name,
                                 const Attribute& attribute,
                                 const Names& names,
                                 ExternalPlan* external) {
  Encoder out;
  out.bytes(attribute::kName, name);
  const int32_t type =
      OCTET_TRY_WITH(std::visit(ValueWriter{out, attribute, names, external}, attribute.value),
                     fmt::format("attribute \"{}\"", name));
  out.text(attribute::kDocString, attribute.doc);
  if (type != kind::kUndefined) out.integer(attribute::kAttributeType, type);
  out.text(attribute::kReference, attribute.reference);
  return out;
}

} // namespace octet::onnx

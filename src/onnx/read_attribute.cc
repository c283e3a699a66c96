// SPDX-License-Identifier: Apache-2.0
// AttributeProto to Attribute. The type field says which value counts; files of IR version 1 lack
// it and the field that is set decides. Source: onnx.proto, AttributeProto.
#include "onnx/read_attribute.h"

#include "core/format.h"
#include "onnx/read_tensor.h"
#include "onnx/schema.h"

namespace octet::onnx {
namespace {

namespace kind = attribute_type;

struct AttributeFields {
  std::string name, reference, doc, text;
  int32_t type = kind::kUndefined;
  uint32_t set = 0; ///< bit k: values of kind k are there
  float real = 0;
  int64_t integer = 0;
  Bytes message; ///< tensor, graph, sparse tensor or type
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  std::vector<Bytes> messages; ///< tensors or graphs
  std::string repeated_raw;    ///< sparse tensors or types, each with its tag
};

/// AttributeType of the value that a field holds; 0 for fields that hold none.
int32_t kind_of(uint32_t field) {
  switch (field) {
  case attribute::kFloat:
    return kind::kFloat;
  case attribute::kInt:
    return kind::kInt;
  case attribute::kString:
    return kind::kString;
  case attribute::kTensor:
    return kind::kTensor;
  case attribute::kGraph:
    return kind::kGraph;
  case attribute::kFloats:
    return kind::kFloats;
  case attribute::kInts:
    return kind::kInts;
  case attribute::kStrings:
    return kind::kStrings;
  case attribute::kTensors:
    return kind::kTensors;
  case attribute::kGraphs:
    return kind::kGraphs;
  case attribute::kSparse:
    return kind::kSparse;
  case attribute::kSparses:
    return kind::kSparses;
  case attribute::kType:
    return kind::kType;
  case attribute::kTypes:
    return kind::kTypes;
  default:
    return kind::kUndefined;
  }
}

void read_floats(Reader& reader, std::vector<float>& out) {
  reader.fixed_run(WireType::kFixed32, [&](Bytes run) {
    for (size_t at = 0; at < run.size(); at += sizeof(float)) {
      float value = 0;
      run.copy(reinterpret_cast<char*>(&value), sizeof(value), at);
      out.push_back(value);
    }
  });
}

void read_value(Reader& reader, int32_t which, AttributeFields& out) {
  out.set |= 1u << which;
  switch (which) {
  case kind::kFloat:
    out.real = reader.float32();
    break;
  case kind::kInt:
    out.integer = reader.integer();
    break;
  case kind::kString:
    out.text = reader.text();
    break;
  case kind::kFloats:
    read_floats(reader, out.floats);
    break;
  case kind::kInts:
    reader.each_integer([&](uint64_t v) { out.ints.push_back(static_cast<int64_t>(v)); });
    break;
  case kind::kStrings:
    out.strings.push_back(reader.text());
    break;
  case kind::kTensors:
  case kind::kGraphs:
    out.messages.push_back(reader.bytes());
    break;
  case kind::kSparses:
  case kind::kTypes:
    out.repeated_raw.append(reader.raw());
    break;
  default:
    out.message = reader.bytes();
  }
}

Result<AttributeFields> scan(Bytes message, const Source& source) {
  AttributeFields out;
  Reader reader = source.reader(message);
  while (reader.next()) {
    switch (reader.field()) {
    case attribute::kName:
      out.name = reader.text();
      break;
    case attribute::kReference:
      out.reference = reader.text();
      break;
    case attribute::kDocString:
      out.doc = reader.text();
      break;
    case attribute::kAttributeType: {
      const int64_t type = reader.integer();
      if (type < 0 || type > kind::kTypes) return error("type {} is none of ONNX", type);
      out.type = static_cast<int32_t>(type);
      break;
    }
    default:
      if (const int32_t which = kind_of(reader.field()); which != kind::kUndefined)
        read_value(reader, which, out);
    }
  }
  OCTET_TRY(reader.finish());
  return out;
}

/// Fields of tensors that Tensor has no place for: none when no tensor has any.
void keep_fields(const std::vector<ReadTensor>& tensors, Attribute& out) {
  SerializedTensors kept;
  bool any = false;
  for (const ReadTensor& t : tensors) {
    Encoder fields;
    fields.text(tensor_proto::kName, t.name);
    fields.raw(t.fields);
    any = any || fields.size() > 0;
    kept.fields.push_back(fields.str());
  }
  if (any) out.tensors = std::make_shared<const SerializedTensors>(std::move(kept));
}

std::shared_ptr<const SerializedAttribute> as_read(int32_t field, std::string bytes) {
  return std::make_shared<const SerializedAttribute>(SerializedAttribute{field, std::move(bytes)});
}

Status set_tensors(const AttributeFields& fields, const Source& source, Attribute& out) {
  std::vector<ReadTensor> read;
  if (fields.set & 1u << kind::kTensor)
    read.push_back(OCTET_TRY(read_tensor(fields.message, source)));
  for (const Bytes message : fields.messages)
    read.push_back(OCTET_TRY(read_tensor(message, source)));
  keep_fields(read, out);
  if (fields.set & 1u << kind::kTensor) {
    out.value = std::move(read.front().tensor);
    return ok_status();
  }
  std::vector<Tensor> tensors;
  tensors.reserve(read.size());
  for (ReadTensor& t : read)
    tensors.push_back(std::move(t.tensor));
  out.value = std::move(tensors);
  return ok_status();
}

Status set_value(AttributeFields& fields, int32_t which, GraphReader& scope, Attribute& out) {
  const bool is_there = (fields.set & 1u << which) != 0;
  switch (which) {
  case kind::kFloat:
    out.value = fields.real;
    return ok_status();
  case kind::kInt:
    out.value = fields.integer;
    return ok_status();
  case kind::kString:
    out.value = std::move(fields.text);
    return ok_status();
  case kind::kFloats:
    out.value = std::move(fields.floats);
    return ok_status();
  case kind::kInts:
    out.value = std::move(fields.ints);
    return ok_status();
  case kind::kStrings:
    out.value = std::move(fields.strings);
    return ok_status();
  case kind::kTensors:
    return set_tensors(fields, scope.source(), out);
  case kind::kSparses:
    out.value = as_read(attribute::kSparses, std::move(fields.repeated_raw));
    return ok_status();
  case kind::kTypes:
    out.value = as_read(attribute::kTypes, std::move(fields.repeated_raw));
    return ok_status();
  case kind::kGraphs: {
    std::vector<GraphPtr> graphs;
    for (const Bytes message : fields.messages)
      graphs.push_back(OCTET_TRY(scope.read_subgraph(message)));
    out.value = std::move(graphs);
    return ok_status();
  }
  default:
    break;
  }
  if (!is_there) return error("has the type {} but no value", which);
  if (which == kind::kTensor) return set_tensors(fields, scope.source(), out);
  if (which == kind::kGraph)
    out.value = OCTET_TRY(scope.read_subgraph(fields.message));
  else
    out.value =
        as_read(which == kind::kSparse ? int32_t{attribute::kSparse} : int32_t{attribute::kType},
                std::string(fields.message));
  return ok_status();
}

Status fill(AttributeFields& fields, GraphReader& scope, Attribute& out) {
  if (!fields.reference.empty()) {
    if (fields.set != 0) return error("refers to \"{}\" and has a value", fields.reference);
    return ok_status();
  }
  int32_t which = fields.type;
  for (int32_t k = kind::kFloat; k <= kind::kTypes && which == kind::kUndefined; ++k)
    if (fields.set == 1u << k) which = k;
  if (which == kind::kUndefined && fields.set == 0) return ok_status();
  if (which == kind::kUndefined || (fields.set & ~(1u << which)) != 0)
    return error("has several values, or one that is not of its type {}", fields.type);
  return set_value(fields, which, scope, out);
}

} // namespace

Result<std::pair<std::string, Attribute>> read_attribute(Bytes message, GraphReader& scope) {
  AttributeFields fields = OCTET_TRY_WITH(scan(message, scope.source()), "attribute");
  Attribute out;
  OCTET_TRY_WITH(fill(fields, scope, out), fmt::format("attribute \"{}\"", fields.name));
  out.reference = std::move(fields.reference);
  out.onnx_type = fields.type;
  out.doc = std::move(fields.doc);
  return std::pair{std::move(fields.name), std::move(out)};
}

} // namespace octet::onnx

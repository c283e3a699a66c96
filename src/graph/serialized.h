// SPDX-License-Identifier: Apache-2.0
// What an ONNX file says that a graph has no place for, as it was serialized: kept so that a file
// which is written again says it again. A graph holds these without looking inside, and what copies
// a node, value or attribute copies them along. src/onnx reads and writes them.
// A field is kept with its tag, so that several stand behind one another. Source: onnx.proto.
#pragma once

#include <string>
#include <vector>

#include "octet/graph.h"

namespace octet {

struct SerializedNode {
  std::string fields; ///< of NodeProto
};

struct SerializedValue {
  /// The field `type` of the ValueInfoProto where writing `Value::type` gives another (an empty
  /// message, denotations, ...).
  std::string type;
  std::string tensor;       ///< fields of the initializer's TensorProto (doc, ...)
  std::string sparse;       ///< the SparseTensorProto that the constant was made from
  std::string quantization; ///< fields of its quantization_annotation
  /// For a constant: the place among the file's graph inputs of an initializer that is one too.
  int32_t input_position = -1;
};

/// An attribute's value of a kind that graphs do not compute with: sparse tensors and types.
struct SerializedAttribute {
  int32_t field = 0; ///< number in AttributeProto
  std::string bytes; ///< the message; for a repeated field all of them, each with its tag
  bool operator==(const SerializedAttribute&) const = default;
};

/// Of the tensors of an attribute: for each the fields of its TensorProto (name, doc, ...).
struct SerializedTensors {
  std::vector<std::string> fields;
};

struct SerializedModel {
  std::string fields; ///< of ModelProto (training_info, ...)
  std::string graph;  ///< of GraphProto
};

/// What they keep; says nothing where there is none.
const SerializedNode& serialized(const Node& node);
const SerializedValue& serialized(const Value& value);
const SerializedTensors& serialized_tensors(const Attribute& attribute);
const SerializedModel& serialized(const ModelInfo& info);

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// What an ONNX file says that a graph has no place for, as it was serialized: kept so that a file
// which is written again says it again. The graph holds it without looking inside, and what copies
// a value copies it along. src/onnx reads and writes it.
#pragma once

#include <string>

#include "octet/graph.h"

namespace octet {

struct SerializedValue {
  /// The field `type` of the ValueInfoProto, with its tag, where writing `Value::type` gives
  /// another (an empty message, denotations, ...).
  std::string type;
  std::string tensor; ///< fields of the initializer's TensorProto (doc, ...), each with its tag
  std::string sparse; ///< the SparseTensorProto that the constant was made from
  std::string quantization; ///< fields of its quantization_annotation, each with its tag
  /// For a constant: the place among the file's graph inputs of an initializer that is one too.
  int32_t input_position = -1;
};

/// That of a value; one that says nothing where it has none.
const SerializedValue& serialized(const Value& value);

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// TypeProto to TypeInfo and back.
#pragma once

#include <string>

#include "onnx/source.h"

#include "octet/graph.h"

namespace octet::onnx {

struct ReadType {
  TypeInfo type;
  /// The bytes as read where writing `type` gives others (denotations, a dimension of -1, ...).
  std::string as_read;
};

Result<ReadType> read_type(Bytes message, const Source& source);

/// The TypeProto; empty when nothing is known.
std::string encode_type(const TypeInfo& type);

/// The TypeProto to write for a value: as it was read if it still says what the value's type says.
std::string type_to_write(const Value& value);

} // namespace octet::onnx

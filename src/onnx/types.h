// SPDX-License-Identifier: Apache-2.0
// TypeProto to TypeInfo and back.
#pragma once

#include <string>

#include "onnx/source.h"

#include "octet/graph.h"

namespace octet::onnx {

struct ReadType {
  TypeInfo type;
  /// The field as read, with its tag, where writing `type` gives another (an empty message,
  /// denotations, a dimension of -1, ...).
  std::string as_read;

  /// False where all that was read is an empty message.
  bool says_something() const;
};

/// From the field `type` of a ValueInfoProto that `reader` is at.
Result<ReadType> read_type(Reader& reader, const Source& source);

/// The field `type` of a ValueInfoProto, with its tag; empty when nothing is known.
std::string encode_type(const TypeInfo& type);

/// The same for a value: the field as it was read if it still says what the value's type says.
std::string type_to_write(const Value& value);

} // namespace octet::onnx

// SPDX-License-Identifier: Apache-2.0
#include "graph/serialized.h"

namespace octet {

const SerializedValue& serialized(const Value& value) {
  static const SerializedValue kNothing;
  return value.serialized ? *value.serialized : kNothing;
}

} // namespace octet

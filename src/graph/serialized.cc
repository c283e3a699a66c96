// SPDX-License-Identifier: Apache-2.0
#include "graph/serialized.h"

namespace octet {
namespace {

template <class T>
const T& kept(const std::shared_ptr<const T>& what) {
  static const T kNothing;
  return what ? *what : kNothing;
}

} // namespace

const SerializedNode& serialized(const Node& node) {
  return kept(node.serialized);
}

const SerializedValue& serialized(const Value& value) {
  return kept(value.serialized);
}

const SerializedTensors& serialized_tensors(const Attribute& attribute) {
  return kept(attribute.tensors);
}

const SerializedModel& serialized(const ModelInfo& info) {
  return kept(info.serialized);
}

} // namespace octet

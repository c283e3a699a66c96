// SPDX-License-Identifier: Apache-2.0
#include "passes/emit.h"

#include "passes/standardize/standard_operators.h"

namespace octet {

ValueId emit_clip(Patch& patch,
                  const Graph& graph,
                  ValueId x,
                  const Bounds& bounds,
                  DType type,
                  std::string name) {
  if (!bounds.lo && !bounds.hi) return x;
  if (bounds.lo && *bounds.lo == 0 && !bounds.hi)
    return patch.emit("Relu", {x}, {}, std::move(name));
  if (graph.opset() < 11) {
    Attributes attributes;
    if (bounds.lo) attributes["min"].value = static_cast<float>(*bounds.lo);
    if (bounds.hi) attributes["max"].value = static_cast<float>(*bounds.hi);
    return patch.emit("Clip", {x}, std::move(attributes), std::move(name));
  }
  const auto limit = [&](const std::optional<double>& value, const char* which) {
    if (!value) return ValueId{};
    return emit_number(patch, name + which, type, *value);
  };
  const ValueId lo = limit(bounds.lo, "_min"), hi = limit(bounds.hi, "_max");
  std::vector<ValueId> inputs = {x, lo};
  if (hi.valid()) inputs.push_back(hi);
  return patch.emit("Clip", std::move(inputs), {}, name);
}

ValueId emit_with_input(Patch& patch, const Node& node, size_t input, ValueId value) {
  patch.from(node);
  std::vector<ValueId> inputs = node.inputs;
  if (inputs.size() <= input) inputs.resize(input + 1);
  inputs[input] = value;
  return patch.emit(node.op_type, std::move(inputs), node.attributes, node.name);
}

ValueId emit_shift(Patch& patch, ValueId x, double number, DType type, const std::string& name) {
  return patch.emit("Add", {x, emit_number(patch, name + "_by", type, number)}, {}, name);
}

} // namespace octet

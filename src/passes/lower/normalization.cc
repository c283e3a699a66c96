// SPDX-License-Identifier: Apache-2.0
// Softmax and LayerNormalization over the last axis become octet's own float operators.
#include "passes/lower/context.h"

namespace octet::lowering {
namespace {

bool over_last_axis(const Context& c, const Node& node, int64_t default_axis) {
  const TypeInfo& x = c.in().value(node.input(0)).type;
  if (x.type != DType::kFloat32 || !x.has_rank() || x.rank() == 0) return false;
  const int64_t axis = node.attr_int("axis", default_axis);
  return axis == -1 || axis == x.rank() - 1;
}

} // namespace

Result<bool> lower_normalization(Context& c, const Node& node) {
  const bool softmax = node.is("Softmax");
  if (!softmax && !node.is("LayerNormalization")) return false;
  const int64_t otherwise = softmax && c.in().opset() < 13 ? 1 : -1;
  if (!over_last_axis(c, node, otherwise)) return false;
  for (size_t k = 1; k < node.outputs.size(); ++k)
    if (node.outputs[k].valid()) return false;
  Node made;
  made.op_type = node.op_type;
  made.domain = "octet.native";
  made.name = node.name;
  made.origin = {node.name};
  for (const ValueId in : node.inputs)
    made.inputs.push_back(c.plain(in).id);
  if (!softmax) made.set("epsilon", node.attr_float("epsilon", 1e-5F));
  c.note(node, made.op_type, softmax ? "softmax runs in float" : "layer norm runs in float");
  c.source(node.outputs[0]).real =
      Form{c.emit(std::move(made), c.in().value(node.outputs[0]).name)};
  return true;
}

} // namespace octet::lowering

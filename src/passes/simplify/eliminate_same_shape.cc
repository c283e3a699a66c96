// SPDX-License-Identifier: Apache-2.0
//   x: T ─▶ Reshape | Flatten | Squeeze | Unsqueeze | Expand | Tile | Slice ─▶ y: T    =>    x
//   x ─▶ Pad(pads: 0) | Resize(scales: 1) | pooling of 1 x 1 | Concat, Sum, Max, Min, Mean or Split
//        of one ─▶ y                                                                   =>    x
// Exact. The shapes must be equal for every value of their symbols, by what the operator computes:
// what is only declared may be another. A Slice that runs backwards keeps the shape too and stays.
#include <algorithm>

#include "ops/infer.h"
#include "ops/op.h"
#include "passes/match.h"
#include "passes/reshape_target.h"
#include "passes/simplify/rules.h"

namespace octet {

namespace {

bool all(const std::optional<std::vector<int64_t>>& values, int64_t want) {
  return values &&
         std::all_of(values->begin(), values->end(), [&](int64_t v) { return v == want; });
}

/// Kernel, strides, dilations of 1 and no padding.
bool is_pointwise_pool(const Node& node) {
  const auto plain = [&](const char* name, int64_t want) {
    const auto values = node.attr_ints(name);
    return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == want; });
  };
  return (node.is("MaxPool") || node.is("AveragePool")) && plain("kernel_shape", 1) &&
         plain("strides", 1) && plain("pads", 0);
}

bool keeps_all(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (only_reshapes(node) || node.is("Expand") || node.is("Tile")) return true;
  if (node.is("Slice")) return all(ints_of(context, node, "steps", 4), 1);
  if (node.is("Pad")) {
    const auto pads = ints_of(context, node, "pads", 1);
    return pads && !pads->empty() && all(pads, 0);
  }
  if (node.is("Resize") && node.attr_string("mode", "nearest") != "cubic") {
    const Tensor* scales = g.constant(node.input(g.opset() < 11 ? 1 : 2));
    return scales != nullptr && scales->count() > 0 && all_equal(*scales, 1) &&
           node.attr_string("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize";
  }
  if (node.is("Split")) return node.outputs.size() == 1;
  return (facts_of(node).of_one_is_it && node.inputs.size() == 1) || is_pointwise_pool(node);
}

} // namespace

std::optional<Patch> eliminate_same_shape(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  const ValueId x = node.input(0), y = node.output(0);
  if (!x.valid() || !y.valid() || !same_type(g.value(x).type, g.value(y).type)) return std::nullopt;
  if (!keeps_all(context, node) || !can_replace(g, y, x)) return std::nullopt;
  const auto computed = infer_outputs(g, node.id, context.elements);
  if (!computed.ok() || !same_type(g.value(x).type, computed->front().type)) return std::nullopt;
  for (size_t k = 1; k < node.outputs.size(); ++k)
    if (context.uses.count(node.outputs[k]) > 0) return std::nullopt;
  Patch patch(g, node.op_type + " that keeps every element in its place", Exactness::kExact);
  patch.replace(y, x);
  return patch;
}

} // namespace octet

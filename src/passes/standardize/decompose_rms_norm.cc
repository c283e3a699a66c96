// SPDX-License-Identifier: Apache-2.0
//   SimplifiedLayerNormalization(x, gain)                   =>    rms norm of x
//   SkipSimplifiedLayerNormalization(x, skip, gain, before) ─▶ y, sum
//                         =>    x + skip [+ before] ─▶ sum,  rms norm of sum ─▶ y
//   RMSNormalization(x, gain)                               =>    the chain
// where the rms norm is RMSNormalization from opset 23 on, else its chain x / sqrt(mean(x x) +
// epsilon) * gain. Rounding. Wanted: the last axis alone, and nobody reads mean and deviation.
#include "passes/standardize/standard_operators.h"

namespace octet {

namespace {

constexpr int64_t kOwnOperator = 23;

/// The last axis alone, of a float type and a known rank.
bool over_last(const Node& node, const TypeInfo& x) {
  const int64_t axis = node.attr_int("axis", -1);
  return x.has_rank() && x.rank() > 0 && is_float(x.type) && (axis == -1 || axis == x.rank() - 1);
}

ValueId emit_best(Patch& patch,
                  const Graph& g,
                  const Node& node,
                  ValueId x,
                  ValueId gain,
                  double epsilon,
                  const TypeInfo& type) {
  if (g.opset() < kOwnOperator)
    return emit_rms_norm(patch, g, node.name, x, gain, epsilon, type.type, type.rank());
  Attributes attributes;
  attributes["epsilon"].value = static_cast<float>(epsilon);
  return patch.emit("RMSNormalization", {x, gain}, std::move(attributes), node.name);
}

} // namespace

ValueId emit_rms_norm(Patch& patch,
                      const Graph& graph,
                      const std::string& name,
                      ValueId x,
                      ValueId gain,
                      double epsilon,
                      DType type,
                      int64_t rank) {
  const ValueId square = patch.emit("Mul", {x, x}, {}, name + "/square");
  const ValueId mean = emit_mean_of_last(patch, graph, name + "/mean", square, rank);
  const ValueId plus = emit_number(patch, name + "/epsilon", type, epsilon);
  const ValueId sum = patch.emit("Add", {mean, plus}, {}, name + "/plus");
  const ValueId root = patch.emit("Sqrt", {sum}, {}, name + "/root");
  const ValueId unit = patch.emit("Div", {x, root}, {}, name + "/unit");
  return patch.emit("Mul", {unit, gain}, {}, name);
}

std::optional<Patch> decompose_rms_norm(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("RMSNormalization")) return std::nullopt;
  const TypeInfo& x = g.value(node.input(0)).type;
  if (!over_last(node, x) || g.value(node.input(1)).type.type != x.type) return std::nullopt;
  Patch patch(g, "the chain that RMSNormalization is", Exactness::kRounding);
  patch.from(node);
  const double epsilon = static_cast<double>(node.attr_float("epsilon", 1e-5F));
  patch.replace(node.output(0), emit_rms_norm(patch, g, node.name, node.input(0), node.input(1),
                                              epsilon, x.type, x.rank()));
  return patch;
}

std::optional<Patch> decompose_simplified_layer_norm(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  const bool plain = node.is("SimplifiedLayerNormalization");
  if ((!plain && !node.is("SkipSimplifiedLayerNormalization", kMicrosoft)) || g.opset() == 0)
    return std::nullopt;
  const TypeInfo& x = g.value(node.input(0)).type;
  const size_t gain = plain ? 1 : 2;
  if (!over_last(node, x) || g.value(node.input(gain)).type.type != x.type) return std::nullopt;
  for (const size_t k : {size_t{1}, size_t{2}})
    if (context.uses.count(node.output(k)) > 0) return std::nullopt;
  Patch patch(g, node.op_type + " is a sum and RMS normalization", Exactness::kRounding);
  patch.from(node);
  ValueId in = node.input(0);
  if (!plain) {
    in = patch.emit("Add", {in, node.input(1)}, {}, node.name + "/skip");
    if (node.input(3).valid()) in = patch.emit("Add", {in, node.input(3)}, {}, node.name + "/bias");
  }
  const double epsilon = static_cast<double>(node.attr_float("epsilon", plain ? 1e-5F : 1e-12F));
  patch.replace(node.output(0), emit_best(patch, g, node, in, node.input(gain), epsilon, x));
  if (!plain && node.output(3).valid()) patch.replace(node.output(3), in);
  return patch;
}

} // namespace octet

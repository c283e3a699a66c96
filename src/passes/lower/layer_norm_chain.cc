// SPDX-License-Identifier: Apache-2.0
//   d = x - ReduceMean(x),  y = d / Sqrt(ReduceMean(d^2) + epsilon) * gain + bias
//                                                      =>    x ─▶ LayerNormalization ─▶ y
// over the last axis. Rounding: equal in real arithmetic. Wanted: gain and bias are constants of
// one axis; what lies between may be read by others too.
#include <cmath>

#include "passes/lower/chains.h"

namespace octet::lowering {
namespace {

const Node* made_by(const Graph& g, ValueId id, std::string_view type) {
  const Node* node = id.valid() ? g.producer(id) : nullptr;
  return node && node->is(type) ? node : nullptr;
}

std::optional<float> number(const Graph& g, ValueId id) {
  const Tensor* t = g.constant(id);
  if (!t || t->count() != 1 || t->type() != DType::kFloat32) return std::nullopt;
  return static_cast<float>(t->at(0));
}

/// x of a mean over the last axis that keeps it.
ValueId mean_of(const Graph& g, ValueId id) {
  const Node* mean = made_by(g, id, "ReduceMean");
  if (!mean || mean->attr_int("keepdims", 1) == 0) return {};
  const TypeInfo& x = g.value(mean->input(0)).type;
  std::vector<int64_t> axes = mean->attr_ints("axes");
  if (mean->input(1).valid()) {
    const Tensor* t = g.constant(mean->input(1));
    const auto ints = t ? t->to_ints() : Result<std::vector<int64_t>>(std::vector<int64_t>());
    if (ints.ok()) axes = *ints;
  }
  if (!x.has_rank() || axes.size() != 1 || (axes[0] != -1 && axes[0] != x.rank() - 1)) return {};
  return mean->input(0);
}

/// x of d = x - mean of x.
ValueId deviation_of(const Graph& g, ValueId id) {
  const Node* sub = made_by(g, id, "Sub");
  return sub && mean_of(g, sub->input(1)) == sub->input(0) ? sub->input(0) : ValueId{};
}

/// d of d^2.
ValueId square_of(const Graph& g, ValueId id) {
  if (const Node* pow = made_by(g, id, "Pow"))
    return number(g, pow->input(1)) == 2.0F ? pow->input(0) : ValueId{};
  const Node* mul = made_by(g, id, "Mul");
  return mul && mul->input(0) == mul->input(1) ? mul->input(0) : ValueId{};
}

struct Normalized {
  ValueId x;
  float epsilon = 0;
};

/// d / Sqrt(mean of d^2 + epsilon).
std::optional<Normalized> normalized(const Graph& g, ValueId id) {
  const Node* div = made_by(g, id, "Div");
  const Node* root = div ? made_by(g, div->input(1), "Sqrt") : nullptr;
  const Node* add = root ? made_by(g, root->input(0), "Add") : nullptr;
  if (!add) return std::nullopt;
  const std::optional<float> right = number(g, add->input(1));
  const std::optional<float> epsilon = right ? right : number(g, add->input(0));
  if (!epsilon) return std::nullopt;
  const ValueId variance = add->input(right ? 0 : 1);
  const ValueId x = deviation_of(g, div->input(0));
  if (!x.valid() || deviation_of(g, square_of(g, mean_of(g, variance))) != x) return std::nullopt;
  return Normalized{x, *epsilon};
}

/// Which input of a node of two is a constant of one axis; 2: none.
size_t vector_input(const Graph& g, const Node& node) {
  for (size_t i = 0; i < 2 && node.inputs.size() == 2; ++i) {
    const Tensor* t = g.constant(node.inputs[i]);
    if (t && t->rank() == 1 && t->type() == DType::kFloat32) return i;
  }
  return 2;
}

} // namespace

std::optional<Patch> fuse_layer_norm(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  if (!node.is("Add")) return std::nullopt;
  const size_t bias = vector_input(g, node);
  const Node* mul = bias < 2 ? made_by(g, node.inputs[1 - bias], "Mul") : nullptr;
  const size_t gain = mul ? vector_input(g, *mul) : 2;
  if (gain == 2) return std::nullopt;
  const auto norm = normalized(g, mul->inputs[1 - gain]);
  if (!norm) return std::nullopt;
  const TypeInfo& x = g.value(norm->x).type;
  const int64_t length = g.constant(node.inputs[bias])->count();
  if (x.type != DType::kFloat32 || !(x.shape->back() == Dim(length)) ||
      g.constant(mul->inputs[gain])->count() != length)
    return std::nullopt;
  Patch patch(g, "the chain is layer normalization", Exactness::kRounding);
  patch.from(node);
  patch.import_opset("octet.native", 1);
  Attributes attributes;
  attributes["epsilon"].value = norm->epsilon;
  const ValueId y =
      patch.emit("LayerNormalization", {norm->x, mul->inputs[gain], node.inputs[bias]}, attributes,
                 node.name + "/layer_norm", "octet.native");
  patch.replace(node.outputs[0], y);
  return patch;
}

} // namespace octet::lowering

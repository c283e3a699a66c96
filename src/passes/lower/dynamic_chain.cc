// SPDX-License-Identifier: Apache-2.0
//   MatMulInteger(x, w, z_x, z_w) ─▶ Cast(f32) ─▶ Mul(s_x * s_w) [─▶ Add(bias)]    =>    QScaledGemm
// in octet.native, for constant w, z_w and s_w and one s_x: the layers that quantize_dynamic writes.
// Rounding: product and sum are one fused multiply-add.
#include "graph/domains.h"
#include "passes/lower/chains.h"
#include "passes/lower/dynamic_weights.h"
#include "passes/match.h"

namespace octet::lowering {
namespace {

/// The sums of a product with constant weights that a Cast alone makes floats of.
const Node* sums_before(const RuleContext& c, ValueId floats) {
  const Graph& g = c.graph;
  const Node* cast = made_by(g, floats, "Cast");
  if (cast == nullptr || cast->attr_int("to", 0) != static_cast<int64_t>(DType::kFloat32) ||
      !c.uses.single_consumer(floats).valid() || !c.uses.single_consumer(cast->input(0)).valid())
    return nullptr;
  const Node* sums = made_by(g, cast->input(0), "MatMulInteger");
  if (sums == nullptr) return nullptr;
  const TypeInfo& x = g.value(sums->input(0)).type;
  const Tensor* w = g.constant(sums->input(1));
  const ValueId x_zero = sums->input(2), w_zero = sums->input(3);
  const bool fits = x.has_rank() && x.rank() > 1 && w != nullptr && w->rank() == 2 &&
                    w->count() > 0 && w->dim(0) <= kMostScaledTerms &&
                    (!x_zero.valid() || has_one_element(g, x_zero)) &&
                    (!w_zero.valid() || g.constant(w_zero) != nullptr);
  return fits ? sums : nullptr;
}

/// What the sums are multiplied with: s_x of one element and constant s_w, f32.
struct Factors {
  ValueId x;
  const Tensor* w;
};
std::optional<Factors> factors_of(const Graph& g, ValueId product, int64_t n) {
  const Node* mul = made_by(g, product, "Mul");
  if (mul == nullptr || mul->inputs.size() != 2) return std::nullopt;
  for (const size_t k : {size_t{0}, size_t{1}}) {
    const ValueId x = mul->input(k);
    const Tensor* w = scales_of(g, mul->input(1 - k), n);
    if (w != nullptr && g.value(x).type.type == DType::kFloat32 && has_one_element(g, x) &&
        g.value(x).type.rank() <= 1)
      return Factors{x, w};
  }
  return std::nullopt;
}

/// The Add of one constant for each column that alone reads the value.
const Node* bias_behind(const RuleContext& c, ValueId y, int64_t n) {
  const Node* add = only_consumer(c, y, "Add");
  if (add == nullptr) return nullptr;
  const Tensor* bias = c.graph.constant(other_than(*add, y));
  const bool fits = bias != nullptr && bias->type() == DType::kFloat32 && bias->count() == n &&
                    bias->rank() > 0 && bias->shape().back() == n &&
                    bias->rank() <= c.graph.value(y).type.rank();
  return fits ? add : nullptr;
}

} // namespace

std::optional<Patch> fuse_scaled_product(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  if (!node.is("Mul") || node.inputs.size() != 2 || !g.value(node.output(0)).type.has_rank())
    return std::nullopt;
  const Node* sums = sums_before(c, node.input(0));
  const size_t from = sums != nullptr ? 0 : 1;
  if (sums == nullptr) sums = sums_before(c, node.input(1));
  if (sums == nullptr) return std::nullopt;
  const Tensor& w = *g.constant(sums->input(1));
  const int64_t n = w.dim(1);
  const auto factors = factors_of(g, node.input(1 - from), n);
  const ValueId w_zero = sums->input(3);
  const auto weights =
      factors ? turned_weights(w, w_zero.valid() ? g.constant(w_zero) : nullptr) : std::nullopt;
  if (!weights || g.value(node.output(0)).type.rank() != g.value(sums->input(0)).type.rank())
    return std::nullopt;
  Patch patch(g, "the product of codes is scaled where it is made", Exactness::kRounding);
  patch.from(*sums);
  patch.from(node);
  patch.import_opset(kNative, 1);
  const auto vector = [&](const Tensor& t) { return t.reshaped({t.count()}).value(); };
  std::vector<ValueId> inputs = {
      sums->input(0), patch.constant(sums->name + "/weights", *weights),
      factors->x,     patch.constant(sums->name + "/scales", vector(*factors->w)),
      ValueId{},      sums->input(2)};
  ValueId result = node.output(0);
  if (const Node* add = bias_behind(c, result, n)) {
    patch.from(*add);
    inputs[4] = patch.constant(sums->name + "/bias", vector(*g.constant(other_than(*add, result))));
    result = add->output(0);
  }
  patch.replace(result, patch.emit("QScaledGemm", std::move(inputs), {}, sums->name, kNative));
  return patch;
}

} // namespace octet::lowering

// SPDX-License-Identifier: Apache-2.0
// What follows a product of codes as a factor or an offset of its channels becomes part of its
// weights' scales and its bias, so that its epilogue writes codes:
//   DQ ─ Conv(DQ(w), b) ─ Mul(f) | Div(1/f)   =>   DQ ─ Conv(DQ(w) f, b f)
//   DQ ─ Conv(DQ(w), b) ─ BatchNormalization  =>   DQ ─ Conv(DQ(w) f, b f + o)
//   DQ ─ Conv(DQ(w), b) ─ Add(o)              =>   DQ ─ Conv(DQ(w), b + o)
//   product ─ Add(o) ─ Mul(f)                 =>   product ─ Mul(f) ─ Add(o f)
//   product ─ Relu ─ Mul(f > 0)               =>   product ─ Mul(f) ─ Relu
// Also Gemm and MatMul, along the last axis; an offset of theirs is left to lowering. Rounding: equal
// in real arithmetic; what is constant is computed in double and rounded once.
#include <algorithm>
#include <cmath>

#include "ops/evaluate.h"
#include "ops/qdq/emit.h"
#include "passes/lower/chains.h"
#include "passes/lower/coded_products.h"
#include "passes/simplify/channel_affine.h"

namespace octet::lowering {
namespace {

/// What a node does to each channel of one of its inputs.
struct Applied {
  ValueId x;
  ChannelAffine affine;
};

bool scales_channels(const Node& node) {
  return node.is("Mul") || node.is("Div") || node.is("Add") || node.is("Sub") ||
         node.is("BatchNormalization");
}

bool are_factors(const ChannelAffine& affine, bool positive) {
  return std::all_of(affine.factor.begin(), affine.factor.end(),
                     [&](double f) { return f > 0 || !positive; }) &&
         std::all_of(affine.offset.begin(), affine.offset.end(), [](double o) { return o == 0; });
}

std::optional<std::vector<double>>
channel_numbers(const Graph& g, ValueId id, int64_t rank, int64_t axis, int64_t channels) {
  const Tensor* constant = g.constant(id);
  if (constant == nullptr || constant->type() != DType::kFloat32) return std::nullopt;
  const auto flat = by_channel(*constant, rank, channels, axis);
  if (!flat) return std::nullopt;
  auto values = flat->to_doubles();
  if (!values.ok()) return std::nullopt;
  for (const double v : *values)
    if (!std::isfinite(v)) return std::nullopt;
  return std::move(*values);
}

/// Mul, Div by, Add or Sub of numbers by channel, or BatchNormalization.
std::optional<Applied>
applied(const RuleContext& c, const Node& node, int64_t axis, int64_t channels) {
  const Graph& g = c.graph;
  if (node.is("BatchNormalization")) {
    auto affine = axis == 1 ? affine_of_norm(c, node) : std::nullopt;
    if (!affine || std::ssize(affine->factor) != channels) return std::nullopt;
    return Applied{node.input(0), std::move(*affine)};
  }
  const bool div = node.is("Div"), mul = node.is("Mul"), sub = node.is("Sub");
  if (!scales_channels(node) || node.inputs.size() != 2) return std::nullopt;
  const size_t side = g.constant(node.input(1)) != nullptr || div || sub ? 1 : 0;
  const TypeInfo& x = g.value(node.input(1 - side)).type;
  if (!x.has_rank()) return std::nullopt;
  auto numbers = channel_numbers(g, node.input(side), x.rank(), axis, channels);
  if (!numbers) return std::nullopt;
  const std::vector<double> neutral(numbers->size(), div || mul ? 0.0 : 1.0);
  for (double& v : *numbers)
    v = div ? 1 / v : sub ? -v : v;
  Applied out{node.input(1 - side), {neutral, neutral}};
  (div || mul ? out.affine.factor : out.affine.offset) = std::move(*numbers);
  return out;
}

/// The bias of a product, one number a channel; nullopt where it is computed or another.
std::optional<std::vector<double>> bias_of(const Graph& g, const CodedProduct& product) {
  const auto channels = static_cast<size_t>(product.channels);
  const ValueId id = product.node->input(2);
  if (!id.valid()) return std::vector<double>(channels, 0.0);
  const auto bias = constant_value(g, id);
  if (!bias || bias->type() != DType::kFloat32 || bias->rank() != 1 ||
      bias->count() != product.channels)
    return std::nullopt;
  auto values = bias->to_doubles();
  return values.ok() ? std::optional(std::move(*values)) : std::nullopt;
}

Tensor floats(const Shape& shape, const std::vector<double>& values) {
  return Tensor::from_doubles(DType::kFloat32, shape, values).value();
}

/// `product` with the affine function in its constants, in the place of what `node` makes.
std::optional<Patch> folded(const RuleContext& c,
                            const Node& node,
                            const CodedProduct& product,
                            const ChannelAffine& affine) {
  const bool shifts =
      std::any_of(affine.offset.begin(), affine.offset.end(), [](double o) { return o != 0; });
  const Node& from = *product.node;
  const bool takes_offset =
      from.is("Conv") || (from.is("Gemm") && from.attr_float("beta", 1.0F) == 1.0F);
  const auto bias = bias_of(c.graph, product);
  if (!bias || (shifts && !takes_offset)) return std::nullopt;
  auto stored = qdq::stored_codes(c.graph, from.input(1));
  const auto weights = stored ? scaled_channels(qdq::in_bytes(std::move(*stored)),
                                                product.weight_axis, affine.factor)
                              : std::nullopt;
  if (!weights) return std::nullopt;
  Patch patch(c.graph, "factors of channels are those of the weights", Exactness::kRounding);
  patch.from(from);
  patch.from(node);
  std::vector<ValueId> inputs = from.inputs;
  inputs[1] = qdq::emit_dequantize(patch, weights->grid,
                                   patch.constant(from.name + "/weights", weights->codes),
                                   from.name + "/scaled");
  if (shifts || from.input(2).valid()) {
    std::vector<double> sums = *bias;
    for (size_t k = 0; k < sums.size(); ++k)
      sums[k] = sums[k] * affine.factor[k] + affine.offset[k];
    inputs.resize(3);
    inputs[2] = patch.constant(from.name + "/bias", floats({std::ssize(sums)}, sums));
  }
  patch.replace(node.output(0),
                patch.emit(from.op_type, std::move(inputs), from.attributes, from.name));
  return patch;
}

/// The factors of `node` before what stands between the product and them: `between` of the numbers
/// `offsets`, or without any.
std::optional<Patch> moved(const RuleContext& c,
                           const Node& node,
                           const Node& between,
                           const Applied& factors,
                           const Applied& behind) {
  Patch patch(c.graph, "factors go to the product before them", Exactness::kRounding);
  patch.from(node);
  patch.from(between);
  std::vector<ValueId> inputs = node.inputs;
  std::replace(inputs.begin(), inputs.end(), factors.x, behind.x);
  std::vector<ValueId> scaled = {patch.emit(node.op_type, inputs, node.attributes, node.name)};
  if (!behind.affine.offset.empty()) {
    std::vector<double> offsets = behind.affine.offset;
    for (size_t k = 0; k < offsets.size(); ++k)
      offsets[k] *= factors.affine.factor[k];
    scaled.push_back(
        patch.constant(between.name + "/offset", floats({std::ssize(offsets)}, offsets)));
  }
  patch.replace(node.output(0), patch.emit(between.op_type, std::move(scaled), {}, between.name));
  return patch;
}

/// A product of codes that nothing but one node reads.
std::optional<CodedProduct> lone_product(const RuleContext& c, ValueId x) {
  if (!x.valid() || !c.uses.single_consumer(x).valid() || c.graph.is_output(x)) return std::nullopt;
  return coded_product(c.graph, x);
}

/// What stands between a product of codes and factors of its channels: Relu, or Add behind a matrix.
std::optional<Applied> between(const RuleContext& c, const Node& maker) {
  if (maker.is("Relu")) return Applied{maker.input(0), {}};
  if (!maker.is("Add")) return std::nullopt;
  for (const ValueId x : maker.inputs) {
    const auto product = lone_product(c, x);
    if (!product || product->node->is("Conv")) continue;
    auto done = applied(c, maker, product->axis, product->channels);
    if (done && done->x == x) return done;
  }
  return std::nullopt;
}

} // namespace

std::optional<Patch> scale_coded_product(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  if (!node.domain.empty() || !scales_channels(node)) return std::nullopt;
  for (const ValueId x : node.inputs) {
    if (!x.valid() || g.constant(x) != nullptr) continue;
    if (const auto product = lone_product(c, x)) {
      const auto done = applied(c, node, product->axis, product->channels);
      return done && done->x == x ? folded(c, node, *product, done->affine) : std::nullopt;
    }
    const Node* maker = g.producer(x);
    if (maker == nullptr || !c.uses.single_consumer(x).valid() || g.is_output(x)) continue;
    const auto behind = between(c, *maker);
    const auto product = behind ? lone_product(c, behind->x) : std::nullopt;
    const auto factors =
        product ? applied(c, node, product->axis, product->channels) : std::nullopt;
    if (factors && factors->x == x && are_factors(factors->affine, maker->is("Relu")))
      return moved(c, node, *maker, *factors, *behind);
  }
  return std::nullopt;
}

} // namespace octet::lowering

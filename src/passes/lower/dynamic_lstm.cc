// SPDX-License-Identifier: Apache-2.0
//   DynamicQuantizeLSTM (com.microsoft)
//   =>  x ─▶ DynamicQuantizeLinear ─▶ QScaledGemm for each direction ─▶ QLSTM
// for constant weights whose codes fit int8 around their zero points, all steps of every sequence
// and no clip. Rounding: sums are floats, not doubles.
#include <algorithm>

#include "graph/domains.h"
#include "ops/native/recurrent.h"
#include "passes/lower/chains.h"
#include "passes/lower/int8_weights.h"
#include "passes/match.h"

namespace octet::lowering {
namespace {

constexpr size_t kW = 1, kR = 2, kB = 3, kInitialH = 5, kInitialC = 6, kP = 7, kFirstScale = 8;

/// One operand of the weights as it is multiplied.
struct Weights {
  std::vector<Tensor> codes;  ///< by direction, i8 [4 H, K]
  std::vector<Tensor> scales; ///< by direction, f32 [4 H]
};

/// Codes [K, C] turned to [C, K].
Tensor channels_first(const Tensor& codes, int64_t d) {
  const int64_t k = codes.dim(1), columns = codes.dim(2);
  const auto values = codes.bytes().subspan(static_cast<size_t>(d * k * columns));
  Tensor out = Tensor::zeros(codes.type(), {columns, k}).value();
  const auto to = out.mutable_bytes();
  for (int64_t i = 0; i < k; ++i)
    for (int64_t c = 0; c < columns; ++c)
      to[static_cast<size_t>(c * k + i)] = values[static_cast<size_t>(i * columns + c)];
  return out;
}

/// Row d of a tensor [D] or [D, C].
Tensor row_of(const Tensor& t, int64_t d) {
  const int64_t count = t.rank() == 2 ? t.dim(1) : 1;
  Tensor out = Tensor::zeros(t.type(), {count}).value();
  const auto to = out.mutable_bytes();
  std::copy_n(t.bytes().begin() + d * static_cast<int64_t>(to.size()), to.size(), to.begin());
  return out;
}

std::optional<Weights> weights_around_zero(const Graph& g, const Node& node, size_t input) {
  const Tensor *codes = g.constant(node.input(input)),
               *scale = g.constant(node.input(kFirstScale + 2 * input - 2)),
               *zero = g.constant(node.input(kFirstScale + 2 * input - 1));
  if (codes == nullptr || scale == nullptr || zero == nullptr || codes->count() == 0 ||
      codes->dim(1) > kMostIntegerTerms)
    return std::nullopt;
  Weights out;
  for (int64_t d = 0; d < codes->dim(0); ++d) {
    const Tensor zeros = row_of(*zero, d), scales = row_of(*scale, d);
    auto made = int8_weights(channels_first(*codes, d), &zeros, false);
    if (!made) return std::nullopt;
    out.codes.push_back(std::move(made->codes));
    const auto factors = scales.data<float>();
    std::vector<float> all(static_cast<size_t>(codes->dim(2)));
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = factors[factors.size() == 1 ? 0 : i];
    out.scales.push_back(Tensor::of<float>({codes->dim(2)}, std::span<const float>(all)));
  }
  return out;
}

/// Directions one after another.
Tensor stacked(const std::vector<Tensor>& parts) {
  Shape shape = parts[0].shape();
  shape.insert(shape.begin(), static_cast<int64_t>(parts.size()));
  Tensor out = Tensor::zeros(parts[0].type(), std::move(shape)).value();
  auto to = out.mutable_bytes().begin();
  for (const Tensor& part : parts)
    to = std::copy(part.bytes().begin(), part.bytes().end(), to);
  return out;
}

} // namespace

std::optional<Patch> decompose_dynamic_lstm(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  if (!node.is("DynamicQuantizeLSTM", kMicrosoft) || g.opset() < 11) return std::nullopt;
  const auto is_constant = [&](size_t i) { return g.constant(node.input(i)) != nullptr; };
  if (!native::why_not_stepwise(node, is_constant).empty()) return std::nullopt;
  const auto w = weights_around_zero(g, node, kW), r = weights_around_zero(g, node, kR);
  if (!w || !r) return std::nullopt;
  Patch patch(g, "sums of x are one product, states are quantized step by step",
              Exactness::kRounding);
  patch.from(node);
  patch.import_opset(kNative, 1);
  const auto name = [&](const char* part) { return node.name + "/" + part; };
  const ValueId codes =
      patch.emit("DynamicQuantizeLinear", {node.input(0)}, {}, name("quantized"), {}, 3);
  std::optional<Tensor> bias;
  if (node.input(kB).valid())
    bias = native::input_biases(g.constant(node.input(kB))->aligned(), lstm_kind(),
                                native::CandidateBias::kJoined);
  std::vector<ValueId> sums;
  for (size_t d = 0; d < w->codes.size(); ++d) {
    std::vector<ValueId> inputs = {codes, patch.constant(name("weights"), w->codes[d]),
                                   patch.output(codes, 1),
                                   patch.constant(name("scales"), w->scales[d])};
    inputs.push_back(bias ? patch.constant(name("bias"), row_of(*bias, static_cast<int64_t>(d)))
                          : ValueId{});
    inputs.push_back(patch.output(codes, 2));
    sums.push_back(patch.emit("QScaledGemm", std::move(inputs), {}, name("sums"), kNative));
  }
  std::vector<ValueId> inputs = {sums[0],
                                 patch.constant(name("recurrent"), stacked(r->codes)),
                                 patch.constant(name("recurrent_scales"), stacked(r->scales)),
                                 sums.size() > 1 ? sums[1] : ValueId{},
                                 node.input(kInitialH),
                                 node.input(kInitialC),
                                 node.input(kP)};
  while (!inputs.back().valid())
    inputs.pop_back();
  const ValueId y = patch.emit("QLSTM", std::move(inputs), node.attributes, node.name, kNative, 3);
  for (int k = 0; k < static_cast<int>(node.outputs.size()); ++k)
    if (node.outputs[static_cast<size_t>(k)].valid())
      patch.replace(node.outputs[static_cast<size_t>(k)], patch.output(y, k));
  return patch;
}

} // namespace octet::lowering

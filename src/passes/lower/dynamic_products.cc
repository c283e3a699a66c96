// SPDX-License-Identifier: Apache-2.0
//   DynamicQuantizeMatMul (com.microsoft)   =>   DynamicQuantizeLinear ─▶ QScaledGemm
//   MatMulIntegerToFloat (com.microsoft)    =>   QScaledGemm
// in octet.native, for constant weights [K, N]: what ONNX Runtime's optimizer makes of files of
// quantize_dynamic. Rounding: product and sum are one fused multiply-add.
#include "graph/domains.h"
#include "passes/lower/chains.h"
#include "passes/lower/dynamic_weights.h"
#include "passes/match.h"

namespace octet::lowering {
namespace {

/// Places of the inputs that both have; x and its scale are input 0 and, where it is codes, 2.
struct Places {
  size_t w_scale, w_zero, bias;
};

/// Inputs 1, 3 and 4 of QScaledGemm.
struct Constants {
  Tensor weights, scales;
  std::optional<Tensor> bias;
};

std::optional<Constants> constants_of(const Graph& g, const Node& node, const Places& at) {
  const Tensor* w = g.constant(node.input(1));
  if (w == nullptr || w->rank() != 2 || w->count() == 0 || w->dim(0) > kMostScaledTerms)
    return std::nullopt;
  const int64_t n = w->dim(1);
  const Tensor* scales = g.constant(node.input(at.w_scale));
  const ValueId zero = node.input(at.w_zero), bias = node.input(at.bias);
  if (scales == nullptr || (zero.valid() && g.constant(zero) == nullptr) ||
      (bias.valid() && g.constant(bias) == nullptr) ||
      (scales->count() != 1 && scales->count() != n))
    return std::nullopt;
  auto codes = turned_weights(*w, zero.valid() ? g.constant(zero) : nullptr);
  if (!codes) return std::nullopt;
  Constants out{std::move(*codes), scales->reshaped({scales->count()}).value(), std::nullopt};
  if (bias.valid()) out.bias = *g.constant(bias);
  return out;
}

ValueId emit_scaled(Patch& patch,
                    const Node& node,
                    const Constants& constants,
                    ValueId x,
                    ValueId scale,
                    ValueId zero) {
  const auto constant = [&](const char* part, const Tensor& t) {
    return patch.constant(node.name + part, t);
  };
  std::vector<ValueId> inputs = {x, constant("/weights", constants.weights), scale,
                                 constant("/scales", constants.scales),
                                 constants.bias ? constant("/bias", *constants.bias) : ValueId{}};
  if (zero.valid()) inputs.push_back(zero);
  while (!inputs.back().valid())
    inputs.pop_back();
  return patch.emit("QScaledGemm", std::move(inputs), {}, node.name, kNative);
}

} // namespace

std::optional<Patch> scale_float_product(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  const bool dynamic = node.is("DynamicQuantizeMatMul", kMicrosoft);
  if (!dynamic && !node.is("MatMulIntegerToFloat", kMicrosoft)) return std::nullopt;
  const ValueId x = node.input(0);
  if (dynamic && g.opset() < 11) return std::nullopt; // without DynamicQuantizeLinear
  if (!g.value(x).type.has_rank() || g.value(x).type.rank() < 2) return std::nullopt;
  const auto constants = constants_of(g, node, dynamic ? Places{2, 3, 4} : Places{3, 5, 6});
  if (!constants) return std::nullopt;
  if (!dynamic && node.input(4).valid() && !has_one_element(g, node.input(4))) return std::nullopt;
  if (!dynamic && !has_one_element(g, node.input(2))) return std::nullopt;
  Patch patch(g, "the product of codes is scaled where it is made", Exactness::kRounding);
  patch.from(node);
  patch.import_opset(kNative, 1);
  ValueId y;
  if (dynamic) {
    const ValueId codes =
        patch.emit("DynamicQuantizeLinear", {x}, {}, node.name + "/quantized", {}, 3);
    y = emit_scaled(patch, node, *constants, codes, patch.output(codes, 1), patch.output(codes, 2));
  } else {
    y = emit_scaled(patch, node, *constants, x, node.input(2), node.input(4));
  }
  patch.replace(node.output(0), y);
  return patch;
}

} // namespace octet::lowering

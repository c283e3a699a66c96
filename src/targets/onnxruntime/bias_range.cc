// SPDX-License-Identifier: Apache-2.0
// Float biases that int32 does not hold in steps of s_x s_w: of a channel whose weights are tiny
// beside its bias, and in f16 of many a layer, since the steps are counted in f16 there. Source:
// docs/targets.md 8 (measured), "Float bias".
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/codec.h"
#include "core/format.h"
#include "ops/evaluate.h"
#include "ops/qdq/bias.h"
#include "targets/checks.h"
#include "targets/onnxruntime/codes.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/releases.h"
#include "targets/onnxruntime/rules.h"

namespace octet {

namespace {

constexpr double kMostCode = std::numeric_limits<int32_t>::max();

double in_type(DType type, double value) {
  const FloatFormat* format = float_format(type);
  return format == nullptr ? qdq::as_float(value)
                           : decode(*format, encode(*format, value, Saturate::kNo));
}

/// s_w of each channel, or one for all; empty: ONNX Runtime leaves the bias as it is, or nothing in
/// the file says.
std::vector<double> weight_scales(const Graph& graph, const Node& node, const Node* dequantize) {
  const ValueId weight = node.input(1);
  if (dequantize == nullptr) { // it makes codes of its own: one scale, zero point 0
    const Tensor* values = graph.constant(weight);
    if (values == nullptr || values->type() != DType::kFloat32) return {};
    double largest = 0;
    for (int64_t i = 0; i < values->count(); ++i)
      largest = std::max(largest, std::abs(values->at(i)));
    return {largest / 127};
  }
  const Tensor* scales = qdq::written(graph, *dequantize).scales;
  if (scales == nullptr || dequantize->attr_int("block_size", 0) != 0) return {};
  const bool direct = graph.producer(weight) == dequantize;
  if (scales->count() != 1 &&
      (!direct || !has_scales_along(graph, weight, onnxruntime_channel_axis(node))))
    return {};
  return scales->to_doubles().value();
}

/// The most that the products of each channel can sum to, in codes; empty: not known.
std::vector<double> largest_sums(const Graph& graph, const Node& node, const RoundedBiases& bias) {
  if (bias.weight == nullptr) return {};
  const auto in = qdq::grid_of(graph, *bias.x, qdq::kAnyScale);
  const auto grid = qdq::grid_of(graph, *bias.weight, qdq::kAnyScale);
  if (!in || !grid || !in->code_range()) return {};
  const auto codes = constant_value(graph, codes_of_qdq(*bias.weight));
  if (!codes || codes->rank() < 2) return {};
  const int64_t axis = onnxruntime_channel_axis(node);
  int64_t inner = 1;
  for (int64_t a = axis + 1; a < static_cast<int64_t>(codes->rank()); ++a)
    inner *= codes->dim(a);
  const int64_t channels = codes->dim(axis);
  const double most = std::max(std::abs(in->code_range()->lo - in->zero_at(0)),
                               std::abs(in->code_range()->hi - in->zero_at(0)));
  std::vector<double> sums(static_cast<size_t>(channels), 0);
  for (int64_t i = 0; i < codes->count(); ++i) {
    const int64_t c = i / inner % channels;
    sums[static_cast<size_t>(c)] += most * std::abs(codes->at(i) - grid->zero_at(c));
  }
  return sums;
}

/// A product of two operands in bytes, which with a bias in codes is a Gemm on codes, whatever their
/// scale.
bool becomes_qgemm(const Graph& graph, const Node& node, const RoundedBiases& bias) {
  const auto in_bytes = [&](const Node* dq) {
    return dq != nullptr && is_byte(qdq::written(graph, *dq).codes_type);
  };
  return (node.is("Gemm") || node.is("MatMul")) && bias.bias->type() == DType::kFloat32 &&
         in_bytes(bias.x) && in_bytes(bias.weight);
}

} // namespace

int64_t onnxruntime_channel_axis(const Node& node) {
  if (node.is("Conv")) return 0;
  return node.is("Gemm") && node.attr_int("transB", 0) != 0 ? 0 : 1;
}

std::optional<RoundedBiases> onnxruntime_rounded_biases(const Graph& graph,
                                                        const Uses& uses,
                                                        const TargetDef& target,
                                                        const Node& node) {
  const auto prepared = onnxruntime_prepared_product(graph, uses, target, node);
  if (!prepared || prepared->bias == nullptr) return std::nullopt;
  RoundedBiases out{*prepared};
  out.weight = onnxruntime_dequantize_before(graph, uses, node.input(1));
  out.w_scales = weight_scales(graph, node, out.weight);
  if (out.w_scales.size() != 1 && out.w_scales.size() != static_cast<size_t>(out.bias->count()))
    return std::nullopt;
  return out;
}

std::optional<LostBiases> onnxruntime_lost_biases(const Graph& graph,
                                                  const Uses& uses,
                                                  const TargetDef& target,
                                                  const Node& node) {
  const auto rounded = onnxruntime_rounded_biases(graph, uses, target, node);
  if (!rounded) return std::nullopt;
  LostBiases out{*rounded};
  out.would_be = becomes_qgemm(graph, node, out);
  const DType type = out.bias->type();
  std::optional<OnnxRuntimeForm> form;
  std::vector<double> sums;
  for (size_t c = 0; c < static_cast<size_t>(out.bias->count()); ++c) {
    const double step = in_type(type, out.x_scale * out.w_scales[out.w_scales.size() == 1 ? 0 : c]);
    const double steps = in_type(type, std::abs(out.bias->at(static_cast<int64_t>(c))) / step);
    if (!(steps > qdq::kLargestBiasCode)) continue;
    // Files are full of layers that this does not concern: the fusion is replayed for few.
    if (!form) {
      form = onnxruntime_form(graph, target, node);
      out.on_codes = form == OnnxRuntimeForm::kQLinear || form == OnnxRuntimeForm::kQGemm;
      if (out.on_codes) sums = largest_sums(graph, node, out);
    }
    if (steps <= kMostCode - (sums.empty() ? 0 : sums[c % sums.size()])) continue;
    if (out.lost.empty()) out.steps = steps;
    out.lost.push_back(c);
  }
  return out.lost.empty() ? std::nullopt : std::optional(std::move(out));
}

namespace onnxruntime {

namespace {

void find_bias_range(const CheckContext& context, const Node& node, Found& found) {
  const auto lost = onnxruntime_lost_biases(context.graph, context.uses, context.target, node);
  if (!lost) return;
  const std::string type(name(lost->bias->type()));
  const std::string steps = std::isfinite(lost->steps)
                                ? fmt::format("is {:.3g} steps", lost->steps)
                                : fmt::format("is more steps than {} holds", type);
  found.add(*lost->reader,
            fmt::format("ONNX Runtime rounds the float bias to int32 in steps of input scale times "
                        "weight scale, counted in {}, when it loads the file, and loses {} of its "
                        "{} elements without a word: element {} {}",
                        type, lost->lost.size(), lost->bias->count(), lost->lost.front(), steps),
            "octet repair stores the bias as codes of its own, or gives these channels' weights a "
            "larger scale");
}

} // namespace

constexpr TargetRule kBiasRange = {.id = "bias-range",
                                   .clause = "8",
                                   .versions = {.since = kFloatBiasSince},
                                   .provider = Provider::kCpu,
                                   .measured = 131,
                                   .find = find_bias_range,
                                   .mends = {Mend::kCodeBias, Mend::kWidenWeight}};

} // namespace onnxruntime
} // namespace octet

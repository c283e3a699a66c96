// SPDX-License-Identifier: Apache-2.0
//   float bias ─▶ product ─▶ Q   =>   int32 codes ─▶ DQ ─▶ product ─▶ Q
// One scale for each element, the power of two that makes a whole number of its mantissa. ONNX
// Runtime rounds float constants alone to steps of the sum. For products that stay in float with
// it, or whose weight is a float constant; of the others see widen_weight. Exact. Source:
// docs/targets.md 8.
#include <algorithm>
#include <cmath>

#include "core/codec.h"
#include "graph/label.h"
#include "ops/qdq/emit.h"
#include "repair/rules.h"
#include "targets/onnxruntime/load.h"

namespace octet {

namespace {

/// Bits behind the point of a normal number.
int mantissa_bits(DType type) {
  const FloatFormat* format = float_format(type);
  return format == nullptr ? 23 : format->mantissa_bits;
}

/// A scale of `type` in steps of which a number of that type is an int32 without a remainder.
double exact_scale(DType type, double value) {
  const FloatFormat* format = float_format(type);
  const double least = format == nullptr ? std::ldexp(1.0, -126) : min_subnormal(*format);
  if (value == 0) return 1;
  return std::max(std::ldexp(1.0, std::ilogb(value) - mantissa_bits(type)), least);
}

} // namespace

std::optional<Repair> code_bias(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const auto lost = onnxruntime_lost_biases(graph, context.uses, context.target, node);
  if (!lost || lost->would_be || (lost->on_codes && lost->weight != nullptr)) return std::nullopt;
  const ValueId value = lost->reader->input(lost->input);
  const Tensor& bias = *lost->bias;
  std::vector<double> scales, codes;
  double error = 0;
  for (int64_t i = 0; i < bias.count(); ++i) {
    if (!std::isfinite(bias.at(i))) return std::nullopt;
    scales.push_back(exact_scale(bias.type(), bias.at(i)));
    codes.push_back(std::nearbyint(bias.at(i) / scales.back()));
    error = std::max(error, std::abs(bias.at(i) - codes.back() * scales.back()));
  }
  qdq::Grid grid;
  grid.codes = DType::kInt32;
  grid.axis_written = 0;
  grid.axis = 0;
  grid.scale = Tensor::from_doubles(bias.type(), bias.shape(), scales).value();
  grid.zero = Tensor::zeros(DType::kInt32, bias.shape()).value();
  Patch patch(graph,
              "the bias is stored as int32 codes with a scale for each element, which ONNX Runtime "
              "does not round again",
              error == 0 ? Exactness::kExact : Exactness::kInexact);
  patch.from(*lost->reader);
  const std::string name = graph.value(value).name;
  const Tensor stored = Tensor::from_doubles(DType::kInt32, bias.shape(), codes).value();
  patch.set_input(lost->reader->id, lost->input,
                  qdq::emit_dequantize(patch, grid, patch.constant(name + "_codes", stored), name));
  return Repair{std::move(patch), error};
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
//   QLinearConv, QLinearMatMul; com.microsoft QGemm, MatMulIntegerToFloat, QLinearAdd, ...
//   =>   DQ of each input ─▶ the float operator ─▶ Q
// For ONNX Runtime only those whose types it has no kernel for.
// The sum or product is rounded to float before Q: a tie may take the other code, one step.
// Source: docs/targets.md 1.3, 4.1.
#include "repair/qoperator.h"

#include <algorithm>
#include <cmath>

#include "repair/rules.h"
#include "targets/onnxruntime/kernels.h"
#include "targets/onnxruntime/releases.h"

namespace octet {

std::optional<double>
product_rounding(const Graph& graph, ValueId b, int64_t axis, std::optional<double> scales) {
  const auto shape = graph.value(b).type.static_shape();
  if (!shape || !scales || -axis > static_cast<int64_t>(shape->size())) return std::nullopt;
  const auto k = static_cast<double>((*shape)[shape->size() - static_cast<size_t>(-axis)]);
  return (k + 2) * 0x1p-24 * k * 255 * 255 * *scales;
}

std::optional<double> one_step(const Graph& graph, ValueId scale) {
  const Tensor* s = graph.constant(scale);
  if (s == nullptr || s->count() == 0) return std::nullopt;
  double largest = 0;
  for (int64_t i = 0; i < s->count(); ++i)
    largest = std::max(largest, s->at(i));
  return largest;
}

namespace {

/// `scale`: the input that holds the scale of what comes out.
std::optional<Repair>
decomposed(DecomposeFn* decompose, const Graph& graph, const Node& node, size_t scale) {
  auto patch = decompose(graph, node);
  if (!patch) return std::nullopt;
  return Repair{std::move(*patch), one_step(graph, node.input(scale))};
}

/// A float product of codes, with scales of one input and of the other.
std::optional<double>
float_product_rounding(const Graph& graph, const Node& node, size_t a, size_t b, int64_t axis) {
  const auto left = one_step(graph, node.input(a)), right = one_step(graph, node.input(b));
  const auto alpha = std::abs(static_cast<double>(node.attr_float("alpha", 1)));
  const auto both = left && right ? std::optional(*left * *right * alpha) : std::nullopt;
  return product_rounding(graph, node.input(b - 1), axis, both);
}

} // namespace

std::optional<Repair> qlinear_conv(const RepairContext& context, const Node& node) {
  return decomposed(decompose_qlinear_conv, context.graph, node, 6);
}

std::optional<Repair> qlinear_matmul(const RepairContext& context, const Node& node) {
  return decomposed(decompose_qlinear_matmul, context.graph, node, 6);
}

std::optional<Repair> qlinear_pool(const RepairContext& context, const Node& node) {
  return decomposed(decompose_qlinear_pool, context.graph, node, 3);
}

std::optional<Repair> qlinear_pointwise(const RepairContext& context, const Node& node) {
  return decomposed(decompose_qlinear_pointwise, context.graph, node, pointwise_output_scale(node));
}

std::optional<Repair> qoperator_without_kernel(const RepairContext& context, const Node& node) {
  if (is_cuda(context.target) || !joint_kernel_fault(context.graph, node)) return std::nullopt;
  for (RepairFn* form : {qlinear_conv, qlinear_matmul, qgemm, matmul_integer_to_float,
                         qlinear_pointwise, qlinear_pool})
    if (auto repair = form(context, node)) return repair;
  return std::nullopt;
}

std::optional<Repair> qgemm(const RepairContext& context, const Node& node) {
  auto repair = decomposed(decompose_qgemm, context.graph, node, 7);
  if (repair && !node.input(7).valid())
    repair->max_error = float_product_rounding(context.graph, node, 1, 4,
                                               node.attr_int("transB", 0) != 0 ? -1 : -2);
  return repair;
}

std::optional<Repair> matmul_integer_to_float(const RepairContext& context, const Node& node) {
  auto patch = decompose_matmul_integer_to_float(context.graph, node);
  if (!patch) return std::nullopt;
  const int64_t rank = context.graph.value(node.input(1)).type.rank();
  return Repair{std::move(*patch),
                float_product_rounding(context.graph, node, 2, 3, rank > 1 ? -2 : -1)};
}

} // namespace octet

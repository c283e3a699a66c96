// SPDX-License-Identifier: Apache-2.0
//   MatMulNBits(a, codes, scales, zeros, groups, bias)    =>    MatMul(a, w^T) [+ bias]
// with the numbers w that the codes mean as a float constant. Rounding. Wanted: constant weights.
#include "ops/microsoft/block_codes.h"
#include "passes/standardize/standard_operators.h"

namespace octet {

namespace {

/// [K, N], or nothing where an input is no constant or does not fit.
std::optional<Tensor> weights(const Graph& g, const Node& node, DType type) {
  const auto codes = ms::parse_block_codes(node);
  if (!codes.ok()) return std::nullopt;
  const auto inputs = ms::constant_block_codes(g, node, *codes);
  if (!inputs) return std::nullopt;
  const auto values = ms::block_values(*codes, *inputs);
  if (!values.ok()) return std::nullopt;
  const auto n = static_cast<size_t>(codes->rows), k = static_cast<size_t>(codes->columns);
  std::vector<double> turned(values->size());
  for (size_t r = 0; r < n; ++r)
    for (size_t c = 0; c < k; ++c)
      turned[c * n + r] = (*values)[r * k + c];
  auto out = Tensor::from_doubles(type, {codes->columns, codes->rows}, turned);
  return out.ok() ? std::optional(std::move(*out)) : std::nullopt;
}

} // namespace

std::optional<Patch> decompose_matmul_nbits(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("MatMulNBits", kMicrosoft) || g.opset() == 0) return std::nullopt;
  const DType type = g.value(node.input(0)).type.type;
  if (!is_float(type)) return std::nullopt;
  auto w = weights(g, node, type);
  if (!w) return std::nullopt;
  Patch patch(g, "MatMulNBits is a product with what its codes mean", Exactness::kRounding);
  patch.from(node);
  const ValueId constant = patch.constant(node.name + "/weight", std::move(*w));
  const bool biased = node.input(5).valid();
  ValueId y = patch.emit("MatMul", {node.input(0), constant}, {},
                         biased ? node.name + "/product" : node.name);
  if (biased) y = patch.emit("Add", {y, node.input(5)}, {}, node.name);
  patch.replace(node.output(0), y);
  return patch;
}

} // namespace octet

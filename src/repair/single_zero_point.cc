// SPDX-License-Identifier: Apache-2.0
//   ConvInteger(x, w u8, zx, [z, z, z])    =>    ConvInteger(x, w, zx, z)
//   ConvInteger(x, w u8, zx, [z0, z1, z2]) =>    ConvInteger(x, w - z, zx, 0)    if int8 holds w - z
// ONNX Runtime's kernels take one zero point for an operand. What fits neither becomes a product of
// floats (integer_product). Exact but for that. Source: docs/targets.md 8.
#include <algorithm>

#include "graph/label.h"
#include "ops/evaluate.h"
#include "passes/emit.h"
#include "repair/rules.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/releases.h"

namespace octet {

namespace {

/// Codes of [M, ...] less the zero point of their row; nullopt where one leaves int8.
std::optional<Tensor> centered(const Tensor& codes, const Tensor& zeros) {
  if (codes.rank() < 1 || zeros.rank() != 1 || codes.dim(0) != zeros.count()) return std::nullopt;
  const int64_t inner = codes.count() / std::max<int64_t>(codes.dim(0), 1);
  std::vector<double> out;
  out.reserve(static_cast<size_t>(codes.count()));
  for (int64_t i = 0; i < codes.count(); ++i) {
    out.push_back(codes.at(i) - zeros.at(i / inner));
    if (out.back() < -128 || out.back() > 127) return std::nullopt;
  }
  auto tensor = Tensor::from_doubles(DType::kInt8, codes.shape(), out);
  return tensor.ok() ? std::optional(*tensor) : std::nullopt;
}

} // namespace

std::optional<Repair> single_zero_point(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const auto wide =
      is_cuda(context.target) ? std::nullopt : onnxruntime_wide_zero_point(graph, node);
  if (!wide) return std::nullopt;
  const std::string name = name_of(graph, node);
  const auto zeros = constant_value(graph, node.input(*wide));
  if (zeros && zeros->count() > 0) {
    bool equal = true;
    for (int64_t i = 1; i < zeros->count(); ++i)
      equal = equal && zeros->at(i) == zeros->at(0);
    const double first = zeros->at(0);
    auto one = Tensor::from_doubles(zeros->type(), {}, {&first, 1});
    if (equal && one.ok()) {
      Patch patch(graph, "zero points that are all equal become one", Exactness::kExact);
      patch.from(node).set_input(node.id, *wide, patch.constant(name + "_zero_point", *one));
      return Repair::exact(std::move(patch));
    }
  }
  const auto codes = zeros && *wide == 3 ? constant_value(graph, node.input(1)) : std::nullopt;
  const auto shifted = codes ? centered(*codes, *zeros) : std::nullopt;
  if (!shifted) return integer_product(context, node);
  Patch patch(graph, "the stored codes less their zero points, which fit int8", Exactness::kExact);
  patch.from(node);
  const double none = 0;
  Node now = node;
  now.inputs[1] = patch.constant(name + "_codes", *shifted);
  now.inputs[3] = patch.constant(name + "_zero_point",
                                 Tensor::from_doubles(DType::kInt8, {}, {&none, 1}).value());
  patch.replace(node.output(0), emit_with_input(patch, now, 0, node.input(0)));
  return Repair::exact(std::move(patch));
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
//   FusedMatMul(a, b)             =>    [Mul alpha ─▶] [Transpose ─▶] MatMul
//   FusedGemm(a, b, c)            =>    Gemm ─▶ activation
//   FusedConv(x, w, b, z)         =>    Conv [─▶ Add z] ─▶ activation
// What ONNX Runtime's optimizer leaves in files that it saves. Rounding: alpha stands at the first
// operand, where TensorRT's fused attention wants a scale. Activations that are no operator of
// their own stay.
#include <algorithm>
#include <numeric>

#include "ops/microsoft/fused_activation.h"
#include "passes/standardize/standard_operators.h"

namespace octet {

namespace {

/// The axes of an operand as FusedMatMul reads them; empty: as they stand.
std::vector<int64_t> order_of(int64_t rank, bool swap, bool batch) {
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (rank >= 2 && batch) std::rotate(axes.begin(), axes.begin() + 1, axes.end() - 1);
  if (rank >= 2 && swap) std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return std::is_sorted(axes.begin(), axes.end()) ? std::vector<int64_t>() : axes;
}

std::optional<Patch> fused_matmul(const Graph& g, const Node& node) {
  Patch patch(g, "FusedMatMul is MatMul of what it scales and transposes", Exactness::kRounding);
  patch.from(node);
  const auto operand = [&](size_t input, const char* swap, const char* batch, const char* part,
                           ValueId x) -> std::optional<ValueId> {
    const bool swaps = node.attr_int(swap, 0) != 0, moves = node.attr_int(batch, 0) != 0;
    if (!swaps && !moves) return x;
    const TypeInfo& type = g.value(node.input(input)).type;
    if (!type.has_rank()) return std::nullopt;
    auto order = order_of(type.rank(), swaps, moves);
    if (order.empty()) return x;
    Attributes perm;
    perm["perm"].value = std::move(order);
    return patch.emit("Transpose", {x}, std::move(perm), node.name + part);
  };
  ValueId x = node.input(0);
  const double alpha = static_cast<double>(node.attr_float("alpha", 1));
  if (alpha != 1) {
    const DType type = g.value(x).type.type;
    if (!is_float(type)) return std::nullopt;
    x = patch.emit("Mul", {x, emit_number(patch, node.name + "/alpha", type, alpha)}, {},
                   node.name + "/scaled");
  }
  const auto a = operand(0, "transA", "transBatchA", "/left", x);
  const auto b = operand(1, "transB", "transBatchB", "/right", node.input(1));
  if (!a || !b) return std::nullopt;
  patch.replace(node.output(0), patch.emit("MatMul", {*a, *b}, {}, node.name));
  return patch;
}

ValueId emit_activation(
    Patch& patch, const Graph& g, const Node& node, const ms::FusedActivation& f, ValueId x) {
  if (f.op.empty()) return x;
  const std::string name = node.name + "/activation";
  std::vector<ValueId> inputs = {x};
  Attributes attributes;
  const bool limits = f.op == "Clip" && g.opset() >= 11;
  const DType type = g.value(node.input(0)).type.type;
  for (const auto& [parameter, value] : f.parameters) {
    if (limits)
      inputs.push_back(
          emit_number(patch, name + "/" + parameter, type, static_cast<double>(value)));
    else
      attributes[parameter].value = value;
  }
  return patch.emit(f.op, std::move(inputs), std::move(attributes), name);
}

std::optional<Patch> with_activation(const Graph& g, const Node& node, const char* op) {
  const auto activation = ms::fused_activation(node);
  if (!activation.ok() || !is_float(g.value(node.input(0)).type.type)) return std::nullopt;
  Patch patch(g, node.op_type + " is " + op + " and what follows", Exactness::kRounding);
  patch.from(node);
  std::vector<ValueId> inputs = node.inputs;
  if (inputs.size() > 3) inputs.resize(3);
  while (!inputs.empty() && !inputs.back().valid())
    inputs.pop_back();
  ValueId y = patch.emit(op, std::move(inputs), ms::product_of(node, op).attributes, node.name);
  if (node.input(3).valid()) y = patch.emit("Add", {y, node.input(3)}, {}, node.name + "/sum");
  patch.replace(node.output(0), emit_activation(patch, g, node, *activation, y));
  return patch;
}

} // namespace

std::optional<Patch> decompose_fused_product(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (node.is("FusedMatMul", kMicrosoft)) return fused_matmul(g, node);
  if (node.is("FusedGemm", kMicrosoft)) return with_activation(g, node, "Gemm");
  if (node.is("FusedConv", kMicrosoft)) return with_activation(g, node, "Conv");
  return std::nullopt;
}

} // namespace octet

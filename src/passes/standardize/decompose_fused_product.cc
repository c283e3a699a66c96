// SPDX-License-Identifier: Apache-2.0
//   FusedMatMul(a, b)             =>    [Mul alpha ─▶] [Transpose ─▶] MatMul
//   FusedGemm(a, b, c)            =>    Gemm ─▶ activation
//   FusedConv(x, w, b, z)         =>    Conv [─▶ Add z] ─▶ activation
// What ONNX Runtime's optimizer leaves in files that it saves. Rounding: alpha stands at the first
// operand, where TensorRT's fused attention wants a scale. Activations that are no operator of
// their own stay.
#include <algorithm>
#include <numeric>

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

/// The activation of a fused node; nullopt for one that is not known.
std::optional<ValueId> activate(Patch& patch,
                                const Graph& g,
                                const Node& node,
                                ValueId x,
                                const std::vector<double>& parameters) {
  const std::string kind = node.attr_string("activation", "");
  if (kind.empty()) return x;
  const std::string name = node.name + "/activation";
  const auto with = [&](std::initializer_list<const char*> names) {
    Attributes out;
    size_t i = 0;
    for (const char* attribute : names) {
      if (i < parameters.size()) out[attribute].value = static_cast<float>(parameters[i]);
      ++i;
    }
    return out;
  };
  if (kind == "Relu" || kind == "Tanh" || kind == "Sigmoid" || kind == "Softplus" ||
      kind == "Softsign" || kind == "Selu")
    return patch.emit(kind, {x}, {}, name);
  if (kind == "LeakyRelu" || kind == "Elu" || kind == "ThresholdedRelu")
    return patch.emit(kind, {x}, with({"alpha"}), name);
  if (kind == "HardSigmoid") return patch.emit(kind, {x}, with({"alpha", "beta"}), name);
  if (kind != "Clip" || parameters.size() != 2) return std::nullopt;
  if (g.opset() < 11) return patch.emit("Clip", {x}, with({"min", "max"}), name);
  const auto limit = [&](const char* which, size_t i) {
    return emit_number(patch, name + which, DType::kFloat32, parameters[i]);
  };
  return patch.emit("Clip", {x, limit("/min", 0), limit("/max", 1)}, {}, name);
}

std::optional<Patch> with_activation(const Graph& g,
                                     const Node& node,
                                     const char* op,
                                     const std::vector<double>& parameters) {
  Patch patch(g, node.op_type + " is " + op + " and what follows", Exactness::kRounding);
  patch.from(node);
  Attributes attributes = node.attributes;
  for (const char* own : {"activation", "activation_params", "activation_alpha", "activation_beta",
                          "activation_gamma"})
    attributes.erase(own);
  std::vector<ValueId> inputs = node.inputs;
  if (inputs.size() > 3) inputs.resize(3);
  while (!inputs.empty() && !inputs.back().valid())
    inputs.pop_back();
  ValueId y = patch.emit(op, std::move(inputs), std::move(attributes), node.name);
  if (node.input(3).valid()) y = patch.emit("Add", {y, node.input(3)}, {}, node.name + "/sum");
  const auto out = activate(patch, g, node, y, parameters);
  if (!out) return std::nullopt;
  patch.replace(node.output(0), *out);
  return patch;
}

} // namespace

std::optional<Patch> decompose_fused_product(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (node.is("FusedMatMul", kMicrosoft)) return fused_matmul(g, node);
  if (node.is("FusedGemm", kMicrosoft)) {
    std::vector<double> parameters;
    for (const char* which : {"activation_alpha", "activation_beta"})
      if (node.has_attr(which))
        parameters.push_back(static_cast<double>(node.attr_float(which, 0)));
    return with_activation(g, node, "Gemm", parameters);
  }
  if (node.is("FusedConv", kMicrosoft)) {
    const auto given = node.attr_floats("activation_params");
    return with_activation(g, node, "Conv", {given.begin(), given.end()});
  }
  return std::nullopt;
}

} // namespace octet

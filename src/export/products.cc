// SPDX-License-Identifier: Apache-2.0
//   DQ(x), DQ(w) ─▶ Conv ─▶ [clamp] ─▶ Q        =>   QLinearConv
//   DQ(a), DQ(b) ─▶ MatMul ─▶ Q                 =>   QLinearMatMul
//   DQ(a), DQ(b) ─▶ MatMul ─▶ float             =>   com.microsoft MatMulIntegerToFloat
//   DQ(a), DQ(b) ─▶ Gemm ─▶ [Q]                 =>   com.microsoft QGemm
// Types of codes that ONNX Runtime has no such kernel for become others first (exact), or the layer
// stays as it is.
// Rounding: the operators sum exactly and scale once, where Q/DQ rounds the sum to float, and the
// bias becomes int32 at scale s_x * s_w. A code may differ by one where the sum lies at a tie.
#include <array>

#include "export/coded_product.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/site.h"
#include "targets/checks.h"
#include "targets/onnxruntime/kernels.h"

namespace octet {

namespace {

struct ProductOperands {
  qdq::Site a, b;
};
/// Both operands as 8-bit codes, the first with one scale.
std::optional<ProductOperands> operands(const Graph& graph, const Node& node) {
  const auto a = qdq::read_dequantize(graph, node.input(0), kForForms),
             b = qdq::read_dequantize(graph, node.input(1), kForForms);
  if (!a || !b || !a->grid.per_tensor() || !is_byte(a->grid.codes) || !is_byte(b->grid.codes))
    return std::nullopt;
  return ProductOperands{*a, *b};
}

/// ONNX Runtime takes a scale for each column of a matrix, not of a stack of them.
bool per_column(const Graph& graph, const qdq::Site& b, bool transposed) {
  if (b.grid.per_tensor()) return true;
  const TypeInfo& type = graph.value(b.codes).type;
  return type.has_rank() && type.rank() == 2 && *b.grid.axis == (transposed ? 0 : 1);
}

/// `y`: kFloat32 where no Q follows.
bool has_kernel(const Graph& graph, const Node& node, DType a, DType b, DType y) {
  constexpr DType f = DType::kFloat32, i = DType::kInt32, none = DType::kUndefined;
  const bool real = y == f;
  if (node.is("Conv"))
    return has_joint_kernel("QLinearConv", "", graph.opset(), std::array{a, f, a, b, f, b, f, y, i},
                            y);
  if (node.is("Gemm"))
    return has_joint_kernel("QGemm", kMicrosoft, 1,
                            std::array{a, f, a, b, f, b, i, real ? none : f, real ? none : y}, y);
  if (real)
    return has_joint_kernel("MatMulIntegerToFloat", kMicrosoft, 1, std::array{a, b, f, f, a, b}, f);
  return has_joint_kernel("QLinearMatMul", "", graph.opset(), std::array{a, f, a, b, f, b, f, y},
                          y);
}
bool has_kernel(const Graph& graph,
                const Node& node,
                const ProductOperands& in,
                const std::optional<CodedOutput>& out) {
  return has_kernel(graph, node, in.a.grid.codes, in.b.grid.codes,
                    out ? out->type() : DType::kFloat32);
}

/// stored uint8 codes ─▶ DQ(z)   =>   int8 codes, 128 less ─▶ DQ(z - 128)
std::optional<Patch> signed_weight(const Graph& graph, const Node& dequantize) {
  constexpr double kUnsignedToSigned = -128;
  const Tensor* stored = graph.constant(dequantize.input(0));
  const auto grid = qdq::grid_of(graph, dequantize);
  if (stored == nullptr || !grid || grid->codes != DType::kUint8) return std::nullopt;
  std::vector<double> codes;
  for (int64_t i = 0; i < stored->count(); ++i)
    codes.push_back(stored->at(i) + kUnsignedToSigned);
  std::vector<double> zeros = grid->zeros();
  for (double& zero : zeros)
    zero += kUnsignedToSigned;
  const std::string name = name_of(graph, dequantize);
  Patch patch(graph, "the same codes as int8, the zero point 128 less", Exactness::kExact);
  patch.from(dequantize);
  const ValueId weight = patch.constant(
      name + "_codes", Tensor::from_doubles(DType::kInt8, stored->shape(), codes).value());
  patch.replace(dequantize.output(0),
                qdq::emit_dequantize(patch, grid->with(DType::kInt8, zeros), weight, name));
  return patch;
}

} // namespace

std::optional<Patch> one_type_of_product(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("Conv") && !node.is("MatMul") && !node.is("Gemm")) return std::nullopt;
  const auto in = operands(g, node);
  const auto out = coded_output(context, node.output(0));
  if (!in || (node.is("Conv") && !out) || (out && !is_byte(out->type())) ||
      has_kernel(g, node, *in, out))
    return std::nullopt;
  if (in->a.grid.codes == DType::kInt8 && in->b.grid.codes == DType::kUint8)
    if (auto patch = signed_weight(g, *g.producer(node.input(1)))) return patch;
  return unsigned_layer(context, {&in->a, 1}, out);
}

std::optional<Patch> qlinear_conv(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("Conv")) return std::nullopt;
  const auto in = operands(g, node);
  const auto out = coded_output(context, node.output(0));
  if (!in || !out || !is_byte(out->type()) || g.constant(in->b.codes) == nullptr)
    return std::nullopt;
  if (!in->b.grid.per_tensor() && *in->b.grid.axis != 0) return std::nullopt;
  if (!has_kernel(g, node, *in, out)) return std::nullopt;
  Patch patch(g, "Conv between DQ and Q", Exactness::kRounding);
  const BiasCodes bias = bias_codes(patch, g, node, in->a, in->b);
  if (!bias.ok) return std::nullopt;
  patch.from(node).from(g.node(out->quantize.node));
  std::vector<ValueId> inputs = {in->a.codes, in->a.scale, in->a.zero,          in->b.codes,
                                 in->b.scale, in->b.zero,  out->quantize.scale, out->quantize.zero};
  if (bias.codes.valid()) inputs.push_back(bias.codes);
  patch.replace(out->quantize.codes,
                patch.emit("QLinearConv", std::move(inputs), node.attributes, node.name));
  return patch;
}

std::optional<Patch> qlinear_matmul(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("MatMul")) return std::nullopt;
  const auto in = operands(g, node);
  const auto out = coded_output(context, node.output(0));
  if (!in || !out || !is_byte(out->type()) || !per_column(g, in->b, false) ||
      !has_kernel(g, node, *in, out))
    return std::nullopt;
  Patch patch(g, "MatMul between DQ and Q", Exactness::kRounding);
  patch.from(node).from(g.node(out->quantize.node));
  patch.replace(out->quantize.codes,
                patch.emit("QLinearMatMul",
                           {in->a.codes, in->a.scale, in->a.zero, in->b.codes, in->b.scale,
                            in->b.zero, out->quantize.scale, out->quantize.zero},
                           {}, node.name));
  return patch;
}

std::optional<Patch> integer_matmul(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("MatMul")) return std::nullopt;
  const auto in = operands(g, node);
  if (!in || !per_column(g, in->b, false) || coded_output(context, node.output(0)) ||
      !has_kernel(g, node, *in, std::nullopt))
    return std::nullopt;
  Patch patch(g, "MatMul behind DQ, read in float", Exactness::kRounding);
  patch.from(node).import_opset(kMicrosoft, 1);
  patch.replace(node.output(0), patch.emit("MatMulIntegerToFloat",
                                           {in->a.codes, in->b.codes, in->a.scale, in->b.scale,
                                            in->a.zero, in->b.zero},
                                           {}, node.name, kMicrosoft));
  return patch;
}

std::optional<Patch> qgemm_form(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("Gemm")) return std::nullopt;
  const auto in = operands(g, node);
  if (!in || !per_column(g, in->b, node.attr_int("transB", 0) != 0)) return std::nullopt;
  const auto out = coded_output(context, node.output(0));
  if (!has_kernel(g, node, *in, out)) return std::nullopt;
  Patch patch(g, out ? "Gemm between DQ and Q" : "Gemm behind DQ, read in float",
              Exactness::kRounding);
  const BiasCodes bias = bias_codes(patch, g, node, in->a, in->b);
  if (!bias.ok) return std::nullopt;
  patch.from(node).import_opset(kMicrosoft, 1);
  Attributes attributes = node.attributes;
  attributes.erase("beta"); // it is in the bias' codes
  std::vector<ValueId> inputs = {in->a.codes, in->a.scale, in->a.zero, in->b.codes,
                                 in->b.scale, in->b.zero,  bias.codes};
  if (out) {
    patch.from(g.node(out->quantize.node));
    inputs.insert(inputs.end(), {out->quantize.scale, out->quantize.zero});
  } else if (!bias.codes.valid()) {
    inputs.pop_back();
  }
  patch.replace(
      out ? out->quantize.codes : node.output(0),
      patch.emit("QGemm", std::move(inputs), std::move(attributes), node.name, kMicrosoft));
  return patch;
}

} // namespace octet

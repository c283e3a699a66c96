// SPDX-License-Identifier: Apache-2.0
//   DQ(x), DQ(w) ─▶ Conv ─▶ [clamp] ─▶ Q        =>   QLinearConv
//   DQ(a), DQ(b) ─▶ MatMul ─▶ Q                 =>   QLinearMatMul
//   DQ(a), DQ(b) ─▶ MatMul ─▶ float             =>   com.microsoft MatMulIntegerToFloat
//   DQ(a), DQ(b) ─▶ Gemm ─▶ [Q]                 =>   com.microsoft QGemm
// Rounding: the operators sum exactly and scale once, where Q/DQ rounds the sum to float, and the
// bias becomes int32 at scale s_x * s_w. A code may differ by one where the sum lies at a tie.
#include "targets/checks.h"
#include "targets/forms/forms.h"

namespace octet {

namespace {

struct ProductOperands {
  CodedValue a, b;
};
/// Both operands as 8-bit codes, the first with one scale.
std::optional<ProductOperands> operands(const Graph& graph, const Node& node) {
  const auto a = coded_value(graph, node.input(0)), b = coded_value(graph, node.input(1));
  if (!a || !b || !a->per_tensor() || !is_byte(a->type) || !is_byte(b->type)) return std::nullopt;
  return ProductOperands{*a, *b};
}

bool per_column(const Graph& graph, const CodedValue& b, bool transposed) {
  if (b.per_tensor()) return true;
  const TypeInfo& type = graph.value(b.codes).type;
  return type.has_rank() && type.rank() >= 2 &&
         *b.axis == (transposed ? type.rank() - 2 : type.rank() - 1);
}

} // namespace

std::optional<Patch> qlinear_conv(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("Conv")) return std::nullopt;
  const auto in = operands(g, node);
  const auto out = coded_output(context, node.output(0));
  if (!in || !out || !is_byte(out->type) || g.constant(in->b.codes) == nullptr) return std::nullopt;
  if (!in->b.per_tensor() && *in->b.axis != 0) return std::nullopt;
  Patch patch(g, "Conv between DQ and Q", Exactness::kRounding);
  const BiasCodes bias = bias_codes(patch, g, node, in->a, in->b);
  if (!bias.ok) return std::nullopt;
  patch.from(node).from(*out->quantize);
  std::vector<ValueId> inputs = {in->a.codes, in->a.scale, in->a.zero, in->b.codes,
                                 in->b.scale, in->b.zero,  out->scale, out->zero};
  if (bias.codes.valid()) inputs.push_back(bias.codes);
  patch.replace(out->quantize->output(0),
                patch.emit("QLinearConv", std::move(inputs), node.attributes, node.name));
  return patch;
}

std::optional<Patch> qlinear_matmul(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("MatMul")) return std::nullopt;
  const auto in = operands(g, node);
  const auto out = coded_output(context, node.output(0));
  if (!in || !out || !is_byte(out->type) || !per_column(g, in->b, false)) return std::nullopt;
  Patch patch(g, "MatMul between DQ and Q", Exactness::kRounding);
  patch.from(node).from(*out->quantize);
  patch.replace(out->quantize->output(0),
                patch.emit("QLinearMatMul",
                           {in->a.codes, in->a.scale, in->a.zero, in->b.codes, in->b.scale,
                            in->b.zero, out->scale, out->zero},
                           {}, node.name));
  return patch;
}

std::optional<Patch> integer_matmul(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("MatMul")) return std::nullopt;
  const auto in = operands(g, node);
  if (!in || !per_column(g, in->b, false) || coded_output(context, node.output(0)))
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
  if (out && out->type != in->a.type) return std::nullopt;
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
    patch.from(*out->quantize);
    inputs.insert(inputs.end(), {out->scale, out->zero});
  } else if (!bias.codes.valid()) {
    inputs.pop_back();
  }
  patch.replace(
      out ? out->quantize->output(0) : node.output(0),
      patch.emit("QGemm", std::move(inputs), std::move(attributes), node.name, kMicrosoft));
  return patch;
}

} // namespace octet

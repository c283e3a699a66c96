// SPDX-License-Identifier: Apache-2.0
//   MatMulInteger(a, b), ConvInteger(a, b) ─▶ Cast(f32) ─▶ Mul(m)
//   =>   DQ(a; s_a), DQ(b; m / s_a) ─▶ MatMul, Conv         where Q with scale s_a made a
// The exact integer sum becomes a float one: rounding. Dynamic quantization is taken first by
// dynamic_quantize, which makes m constant. Source: docs/targets.md 1.3, 9.
#include "graph/label.h"
#include "ops/evaluate.h"
#include "ops/qdq/grid.h"
#include "ops/qdq/site.h"
#include "repair/qoperator.h"
#include "repair/rules.h"

namespace octet {

namespace {

/// The only reader of a value, of a type; null otherwise.
const Node* only_reader(const RepairContext& context, ValueId value, std::string_view op) {
  const NodeId id = context.uses.single_consumer(value);
  return id.valid() && context.graph.node(id).is(op) ? &context.graph.node(id) : nullptr;
}

/// b's scales: one, or one for each output channel that `factor` is laid out for.
std::optional<std::vector<double>>
channel_scales(const Tensor& factor, const TypeInfo& b, bool convolution, double a_scale) {
  const auto shape = b.static_shape();
  if (!shape || shape->empty()) return std::nullopt;
  const int64_t channels = convolution ? shape->front() : shape->back();
  if (factor.count() > 1) {
    // [N] or [1, N] behind a product of matrices, [C, 1, 1] or [1, C, 1, 1] behind a convolution.
    const int64_t behind = convolution ? static_cast<int64_t>(shape->size()) - 2 : 0;
    const int64_t axis = factor.rank() - 1 - behind;
    if (factor.count() != channels || axis < 0 || factor.dim(axis) != channels) return std::nullopt;
  }
  std::vector<double> out;
  for (int64_t i = 0; i < factor.count(); ++i)
    out.push_back(factor.at(i) / a_scale);
  return out;
}

} // namespace

std::optional<Repair> integer_product(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const bool convolution = node.is("ConvInteger");
  if (!convolution && !node.is("MatMulInteger")) return std::nullopt;
  const Node* quantize = graph.producer(node.input(0));
  const bool is_coded = quantize != nullptr && is_quantize(*quantize);
  const qdq::Written said = is_coded ? qdq::written(graph, *quantize) : qdq::Written();
  const Tensor* a_scale = said.scales;
  const Node* cast = only_reader(context, node.output(0), "Cast");
  const Node* mul = cast == nullptr ? nullptr : only_reader(context, cast->output(0), "Mul");
  if (a_scale == nullptr || a_scale->count() != 1 || mul == nullptr ||
      cast->attr_int("to", 0) != static_cast<int64_t>(DType::kFloat32))
    return std::nullopt;
  const auto factor = constant_value(graph, mul->input(mul->input(0) == cast->output(0) ? 1 : 0));
  const TypeInfo& b_type = graph.value(node.input(1)).type;
  const auto scales =
      factor ? channel_scales(*factor, b_type, convolution, a_scale->at(0)) : std::nullopt;
  if (!scales || !qdq::is_usable_scale(a_scale->at(0))) return std::nullopt;
  const std::string name = name_of(graph, node);
  Patch patch(graph, node.op_type + " becomes the float product behind DQ", Exactness::kRounding);
  patch.from(node).from(*cast).from(*mul);
  const Shape shape = scales->size() > 1 ? Shape{static_cast<int64_t>(scales->size())} : Shape{};
  auto tensor = Tensor::from_doubles(DType::kFloat32, shape, *scales);
  if (!tensor.ok()) return std::nullopt;
  // A MatMulInteger may have a zero point for each row of a.
  const TypeInfo& a_type = graph.value(node.input(0)).type;
  const int64_t row = a_type.has_rank() ? a_type.rank() - 2 : -1;
  const auto a = qdq::emit_operand(patch, graph, {node.input(0), said.scale, node.input(2)},
                                   convolution ? 1 : row, name + "_a");
  const auto b = qdq::emit_operand(patch, graph, {node.input(1), {}, node.input(3)}, *tensor,
                                   convolution ? int64_t{0} : b_type.rank() - 1, name + "_b");
  if (!a || !b) return std::nullopt;
  patch.replace(mul->output(0),
                patch.emit(convolution ? "Conv" : "MatMul", {*a, *b}, node.attributes, name));
  double largest = 0;
  for (const double s : *scales)
    largest = std::max(largest, s * a_scale->at(0));
  const auto whole = convolution || b_type.rank() < 2
                         ? std::nullopt
                         : product_rounding(graph, node.input(1), -2, largest);
  return Repair{std::move(patch), whole};
}

} // namespace octet

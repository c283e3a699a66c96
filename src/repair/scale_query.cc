// SPDX-License-Identifier: Apache-2.0
//   q ─▶ MatMul(kᵀ) ─▶ Mul(c), Div(1 / c) ─▶ ... ─▶ Softmax   =>   q ─▶ Mul(c) ─▶ MatMul(kᵀ) ─▶ ...
// Where --attention asks: TensorRT's fused attention wants the scale on Q or K. Q and DQ on q take
// it into their scale: q ─▶ Mul(c) ─▶ Q(c s) ─▶ DQ(c s). Exact for powers of two without Q and DQ,
// else rounding. Source: docs/targets.md 2.4.
#include <array>
#include <cmath>

#include "graph/label.h"
#include "ops/qdq/emit.h"
#include "repair/attention_places.h"
#include "repair/rules.h"

namespace octet {

namespace {

struct ScoreScale {
  const Node* node;
  double factor;
};

/// The Mul or Div by one number that alone reads the product.
std::optional<ScoreScale> scale_of(const RepairContext& context, const Node& scores) {
  const Graph& graph = context.graph;
  const NodeId next = context.uses.single_consumer(scores.output(0));
  if (!next.valid()) return std::nullopt;
  const Node& node = graph.node(next);
  const bool divides = node.is("Div");
  if (!divides && !node.is("Mul")) return std::nullopt;
  const size_t at = node.input(0) == scores.output(0) ? 1 : 0;
  const Tensor* c = graph.constant(node.input(at));
  if (c == nullptr || c->count() != 1 || (divides && at == 0) || !(c->at(0) > 0))
    return std::nullopt;
  return ScoreScale{&node, divides ? 1 / c->at(0) : c->at(0)};
}

} // namespace

std::optional<Repair> scale_query(const RepairContext& context, const Node& node) {
  if (context.attention == AttentionForm::kKeep) return std::nullopt;
  const Graph& graph = context.graph;
  const auto attention = attention_around(context, node);
  if (!attention || !attention->scale_after_scores) return std::nullopt;
  const Node& scores = graph.node(attention->scores);
  const auto scale = scale_of(context, scores);
  if (!scale) return std::nullopt;
  const auto codes = coded_operand(graph, scores.input(0));
  if (graph.producer(scores.input(0)) != nullptr &&
      is_dequantize(*graph.producer(scores.input(0))) && !codes)
    return std::nullopt;
  const DType type = graph.value(scores.input(0)).type.type;
  const double factor = qdq::as_float(scale->factor);
  int exponent = 0;
  const bool power = std::frexp(factor, &exponent) == 0.5;
  Patch patch(graph, "the scale moves from the scores to Q",
              power && !codes ? Exactness::kExact : Exactness::kRounding);
  patch.from(*scale->node);
  const std::string base = name_of(graph, scores) + "_query";
  const std::array<double, 1> number = {factor};
  const auto constant = Tensor::from_doubles(type, {}, number);
  if (!constant.ok()) return std::nullopt;
  const ValueId c = patch.constant(base + "_scale", *constant);
  const ValueId q = codes ? codes->quantize->input(0) : scores.input(0);
  ValueId scaled = patch.emit("Mul", {q, c}, {}, base + "_scaled");
  if (codes) {
    const double step = qdq::as_float(codes->grid.scale_at(0) * factor);
    if (!qdq::is_usable_scale(step)) return std::nullopt;
    const qdq::Grid grid = codes->grid.with({step});
    scaled = qdq::emit_dequantize(
        patch, grid, qdq::emit_quantize(patch, grid, scaled, base + "_quantize"), base);
  }
  const ValueId product = patch.emit("MatMul", {scaled, scores.input(1)}, {}, base + "_scores");
  patch.replace(scale->node->output(0), product);
  return Repair{std::move(patch), power && !codes ? std::optional(0.0) : std::nullopt};
}

} // namespace octet

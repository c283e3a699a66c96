// SPDX-License-Identifier: Apache-2.0
//   x ─▶ Q ─▶ DQ ─▶ y   =>   r = Clip(x / s)    |r| normal:  c = r (2^k + 1), n = c - (c - r)
//                                               |r| smaller: n = (r + m) - m
//                                               y = n s
#include "quant/simulate.h"

#include <cmath>

#include "graph/label.h"
#include "ops/infer.h"
#include "ops/qdq/site.h"

namespace octet {
namespace {

constexpr int kF32Digits = 24;
constexpr int kMostMantissaBits = 11;

class Simulation {
 public:
  Simulation(Graph& graph, const FloatFormat& format) : graph_(graph), format_(format) {}

  /// DQ(Q(x)) with `scale`, which is a number or has the shape that x broadcasts with.
  ValueId round_trip(ValueId x, Tensor scale, const std::string& name) {
    name_ = name;
    const double largest = max_finite(format_);
    const double normal = min_normal(format_);
    const ValueId s = graph_.add_constant(graph_.unique_name(name + "/scale"), std::move(scale));
    const ValueId r = emit("Clip", {emit("Div", {x, s}), number(-largest), number(largest)});
    const int digits = format_.mantissa_bits + 1;
    const ValueId c = emit("Mul", {r, number(std::ldexp(1.0, kF32Digits - digits) + 1)});
    const ValueId above = emit("Sub", {c, emit("Sub", {c, r})});
    const ValueId m = number(1.5 * std::ldexp(min_subnormal(format_), kF32Digits - 1));
    const ValueId below = emit("Sub", {emit("Add", {r, m}), m});
    const ValueId small = emit("Less", {emit("Abs", {r}), number(normal)});
    return emit("Mul", {emit("Where", {small, below, above}), s});
  }

 private:
  ValueId number(double value) {
    return graph_.add_constant(graph_.unique_name(name_ + "/number"),
                               Tensor::scalar(static_cast<float>(value)));
  }
  ValueId emit(const char* op, std::vector<ValueId> inputs) {
    return graph_.emit(op, std::move(inputs), {}, graph_.unique_name(name_ + "/" + op));
  }

  Graph& graph_;
  const FloatFormat& format_;
  std::string name_;
};

/// `scales` over `factor`, in the shape that a tensor of `rank` broadcasts with.
Result<Tensor> rescaled(const Tensor& scales, double factor, int64_t axis, int64_t rank) {
  std::vector<float> values = OCTET_TRY(scales.to_floats());
  for (float& v : values)
    v = static_cast<float>(static_cast<double>(v) * factor);
  Shape shape;
  if (scales.rank() == 1) {
    shape.assign(static_cast<size_t>(rank), 1);
    shape[static_cast<size_t>(axis)] = scales.dim(0);
  }
  return Tensor::of<float>(std::move(shape), std::span<const float>(values));
}

} // namespace

Result<Graph> simulate_formats(Graph graph, const SimulatedFormats& formats) {
  for (const FloatFormat* format : {formats.weights, formats.activations})
    if (format != nullptr && format->mantissa_bits > kMostMantissaBits)
      return error("{} has {} bits of mantissa; up to {} are simulated in f32", format->name,
                   format->mantissa_bits, kMostMantissaBits);
  OCTET_TRY(infer_types(graph));
  for (const NodeId id : graph.nodes()) {
    const Node dq = graph.node(id);
    if (!is_dequantize(dq)) continue;
    const qdq::Written said = qdq::written(graph, dq);
    const FloatFormat* from = float_format(said.codes_type);
    if (from == nullptr) continue;
    const auto refuse = [&](const char* why) {
      return error(ErrorCode::kUnsupported, "{} cannot be simulated: {}", label(graph, dq), why);
    };
    const Node* q = graph.producer(said.codes);
    if (q == nullptr || !is_quantize(*q)) return refuse("its codes are not made by a Q");
    const ValueId x = q->input(0);
    const bool weight = graph.constant(x) != nullptr;
    const FloatFormat* to = weight ? formats.weights : formats.activations;
    if (to == nullptr) continue;
    if (said.scales == nullptr || said.block > 0) return refuse("its scales are no constants");
    const TypeInfo& type = graph.value(x).type;
    if (said.scales->rank() == 1 && !type.has_rank()) return refuse("the rank is not known");
    const int64_t rank = type.has_rank() ? type.rank() : 0;
    const int64_t axis = said.axis < 0 ? said.axis + rank : said.axis;
    if (said.scales->rank() == 1 && (axis < 0 || axis >= rank)) return refuse("its axis is none");
    Tensor scale =
        OCTET_TRY(rescaled(*said.scales, max_finite(*from) / max_finite(*to), axis, rank));
    const ValueId y = Simulation(graph, *to).round_trip(x, std::move(scale), dq.name);
    graph.replace_uses(dq.output(0), y);
  }
  graph.remove_dead();
  return graph;
}

} // namespace octet

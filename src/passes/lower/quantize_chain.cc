// SPDX-License-Identifier: Apache-2.0
// Q moves up to the product before it, whose epilogue then writes codes:
//   x ─ Reshape | Transpose | ... ─ Q     =>    x ─ Q ─ Reshape | Transpose | ..., Relu and Clip as well
//   a, b ─ Concat ─ Q                     =>    a ─ Q, b ─ Q ─ Concat
//   x ─ MaxPool ─ Q                       =>    x ─ Q ─ DQ ─ MaxPool ─ Q
//   x ─ Mul(c) | Div(1/c) ─ Q(s)          =>    x ─ Q(s / c)
// The first two change no code, nor does the third, where x is surely no NaN: Q is monotone. The
// last changes none where c is a power of two; elsewhere a number that lies at a tie but for rounding
// may get the code beside it.
#include <algorithm>
#include <cmath>

#include "ops/qdq/site.h"
#include "passes/lower/chains.h"
#include "passes/lower/coded_products.h"
#include "passes/lower/context.h"
#include "passes/lower/magnitude.h"
#include "passes/match.h"

namespace octet::lowering {
namespace {

/// The node that makes what `quantize` reads, when nothing else reads it.
const Node* before(const RuleContext& c, const Node& quantize) {
  const ValueId x = quantize.input(0);
  const Node* node = c.graph.producer(x);
  const bool alone = node && !c.graph.is_output(x) && c.uses.single_consumer(x).valid();
  return alone && node->domain.empty() ? node : nullptr;
}

/// The grid of Q where it quantizes f32 to one scale for kernels.
std::optional<qdq::Grid> kernel_grid(const RuleContext& c, const Node& node) {
  if (!is_quantize(node) || c.graph.value(node.input(0)).type.type != DType::kFloat32)
    return std::nullopt;
  const auto grid = qdq::grid_of(c.graph, node, kForKernels);
  return grid ? std::optional(*grid) : std::nullopt;
}

} // namespace

std::optional<Patch> quantize_before_moving(const RuleContext& c, const Node& node) {
  const bool clamps = node.is("Relu") || node.is("Clip");
  if (!clamps && !is_quantize(node)) return std::nullopt;
  const Node* move = before(c, node);
  if (!move || !(moves_elements(*move) || move->is("Expand")) || (!clamps && !kernel_grid(c, node)))
    return std::nullopt;
  Patch patch(c.graph, "codes move as their numbers do", Exactness::kExact);
  patch.from(node);
  patch.from(*move);
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = move->input(0);
  std::vector<ValueId> moved = move->inputs;
  moved[0] = patch.emit(node.op_type, std::move(inputs), node.attributes, node.name, node.domain);
  patch.replace(node.outputs[0],
                patch.emit(move->op_type, std::move(moved), move->attributes, move->name));
  return patch;
}

std::optional<Patch> quantize_before_joining(const RuleContext& c, const Node& node) {
  if (!is_quantize(node)) return std::nullopt;
  const Node* join = before(c, node);
  if (!join || !join->is("Concat") || !kernel_grid(c, node)) return std::nullopt;
  Patch patch(c.graph, "codes are joined as their numbers are", Exactness::kExact);
  patch.from(node);
  patch.from(*join);
  std::vector<ValueId> joined;
  joined.reserve(join->inputs.size());
  for (const ValueId x : join->inputs) {
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = x;
    joined.push_back(patch.emit(node.op_type, std::move(inputs), node.attributes,
                                node.name + "/" + c.graph.value(x).name, node.domain));
  }
  patch.replace(node.outputs[0],
                patch.emit(join->op_type, std::move(joined), join->attributes, join->name));
  return patch;
}

std::optional<Patch> quantize_before_pooling(const RuleContext& c, const Node& node) {
  if (!is_quantize(node)) return std::nullopt;
  const Node* pool = before(c, node);
  if (!pool || !pool->is("MaxPool") || pool->output(1).valid() || !kernel_grid(c, node) ||
      dequantizer_of(c.graph, pool->input(0)) != nullptr || !magnitude_of(c.graph, pool->input(0)))
    return std::nullopt;
  Patch patch(c.graph, "the largest code is that of the largest number", Exactness::kExact);
  patch.from(node);
  patch.from(*pool);
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = pool->input(0);
  Attributes grid = node.attributes;
  inputs[0] = patch.emit(node.op_type, inputs, grid, node.name + "/before", node.domain);
  for (const char* of_codes : {"output_dtype", "saturate", "precision"})
    grid.erase(of_codes);
  const ValueId numbers =
      patch.emit("DequantizeLinear", inputs, grid, node.name + "/numbers", node.domain);
  std::vector<ValueId> pooled = node.inputs;
  pooled[0] = patch.emit(pool->op_type, {numbers}, pool->attributes, pool->name);
  patch.replace(node.outputs[0], patch.emit(node.op_type, std::move(pooled), node.attributes,
                                            node.name, node.domain));
  return patch;
}

std::optional<Patch> scale_by_quantizing(const RuleContext& c, const Node& node) {
  if (!is_quantize(node)) return std::nullopt;
  const Node* scaled = before(c, node);
  if (!scaled || (!scaled->is("Mul") && !scaled->is("Div"))) return std::nullopt;
  const auto grid = kernel_grid(c, node);
  if (!grid) return std::nullopt;
  const ValueId first = scaled->input(0), second = scaled->input(1);
  const bool constant_first = scaled->is("Mul") && number(c.graph, first).has_value();
  const std::optional<double> factor = number(c.graph, constant_first ? first : second);
  const ValueId x = constant_first ? second : first;
  if (!factor || !(*factor > 0) || dequantizer_of(c.graph, x) != nullptr ||
      !same_type(c.graph.value(x).type, c.graph.value(node.input(0)).type))
    return std::nullopt;
  // Far from where f32 ends, so that neither product rounds to nothing or overflows before the
  // codes do.
  constexpr double kLeast = 0x1p-100, kMost = 0x1p100;
  const double old_scale = static_cast<double>(grid->one_scale());
  const double scale = scaled->is("Mul") ? old_scale / *factor : old_scale * *factor;
  if (!(scale >= kLeast && scale <= kMost && old_scale >= kLeast && old_scale <= kMost))
    return std::nullopt;
  int exponent = 0;
  const bool is_power = std::frexp(*factor, &exponent) == 0.5;
  Patch patch(c.graph, "the scale takes the factor",
              is_power ? Exactness::kExact : Exactness::kRounding);
  patch.from(node);
  patch.from(*scaled);
  std::vector<ValueId> inputs = node.inputs;
  inputs[0] = x;
  inputs[1] = patch.constant(node.name + "/scale", Tensor::scalar(static_cast<float>(scale)));
  patch.replace(node.outputs[0], patch.emit(node.op_type, std::move(inputs), node.attributes,
                                            node.name, node.domain));
  return patch;
}

} // namespace octet::lowering

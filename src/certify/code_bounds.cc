// SPDX-License-Identifier: Apache-2.0
#include "certify/code_bounds.h"

#include <algorithm>
#include <cmath>

#include "ops/op.h"
#include "ops/qdq/grid.h"
#include "ops/qdq/site.h"
#include "ops/value_range.h"

namespace octet {

namespace {

constexpr int kBoundDepth = 16;
/// A value at a tie may take either code.
constexpr double kTie = 1e-4;

const Tensor* single_value(const Graph& graph, ValueId id) {
  const Tensor* t = id.valid() ? graph.constant(id) : nullptr;
  return t != nullptr && t->count() == 1 ? t : nullptr;
}

CodeSpan of_quantize(const Graph& graph, const Node& q, int32_t offset) {
  const auto grid = qdq::grid_of(
      graph, q,
      {.most = qdq::Reading::Most::kTensor, .usable_scales = true, .written_zero = false});
  if (!grid) return {};
  const double middle = grid->zero_at(0) + offset;
  const Range real = range_of(graph, q.input(0));
  const auto code = [&](double value) {
    return static_cast<int32_t>(std::clamp(value + middle, 0.0, 255.0));
  };
  return {code(std::ceil(real.lo / grid->scale_at(0) - 0.5 - kTie)),
          code(std::floor(real.hi / grid->scale_at(0) + 0.5 + kTie))};
}

CodeSpan bounds_at(const Graph& graph, ValueId codes, int32_t offset, int depth) {
  const Node* node = depth < kBoundDepth && codes.valid() ? graph.producer(codes) : nullptr;
  if (node == nullptr) return {};
  if (is_quantize(*node)) return of_quantize(graph, *node, offset);
  if (moves_values(*node)) return bounds_at(graph, node->input(0), offset, depth + 1);
  if (!node->is("Clip")) return {};
  CodeSpan out = bounds_at(graph, node->input(0), offset, depth + 1);
  const Tensor *low = single_value(graph, node->input(1)),
               *high = single_value(graph, node->input(2));
  if (low != nullptr) out.lowest = std::max(out.lowest, static_cast<int32_t>(low->at(0)) + offset);
  if (high != nullptr)
    out.highest = std::min(out.highest, static_cast<int32_t>(high->at(0)) + offset);
  if (out.lowest > out.highest) return {};
  return out;
}

} // namespace

CodeSpan code_bounds(const Graph& graph, ValueId codes, int32_t offset) {
  return bounds_at(graph, codes, offset, 0);
}

} // namespace octet

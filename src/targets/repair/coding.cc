// SPDX-License-Identifier: Apache-2.0
#include "targets/repair/coding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "octet/executor.h"
#include "ops/evaluate.h"
#include "ops/qdq/site.h"
#include "passes/standard_operators.h"

namespace octet {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// How far back a value is followed.
constexpr int kMaxCodingDepth = 16;

Range range_at(const Graph& graph, ValueId value, int depth);

Range of_clip(const Graph& graph, const Node& node, Range in) {
  const auto limit = [&](size_t i, const char* attribute, double otherwise) {
    if (const Tensor* t = graph.constant(node.input(i)); t != nullptr && t->count() == 1)
      return t->at(0);
    if (node.has_attr(attribute))
      return static_cast<double>(node.attr_float(attribute, static_cast<float>(otherwise)));
    return otherwise;
  };
  const double lo = limit(1, "min", -kInfinity), hi = limit(2, "max", kInfinity);
  return {std::min(std::max(in.lo, lo), hi), std::min(std::max(in.hi, lo), hi)};
}

Range of_dequantize(const Graph& graph, const Node& node) {
  const auto grid = qdq::grid_of(graph, node);
  return grid ? grid->real_range() : Range{-kInfinity, kInfinity};
}

Range of_node(const Graph& graph, const Node& node, int depth) {
  const Range all{-kInfinity, kInfinity};
  if (is_dequantize(node)) return of_dequantize(graph, node);
  if (!node.domain.empty()) return all;
  const auto in = [&] { return range_at(graph, node.input(0), depth + 1); };
  if (node.op_type == "Relu") return {std::max(in().lo, 0.0), std::max(in().hi, 0.0)};
  if (node.op_type == "Clip") return of_clip(graph, node, in());
  if (node.op_type == "Sigmoid" || node.op_type == "Softmax" || node.op_type == "HardSigmoid")
    return {0, 1};
  if (node.op_type == "Tanh" || node.op_type == "Erf") return {-1, 1};
  if (node.op_type == "Abs" || node.op_type == "Exp" || node.op_type == "Sqrt")
    return {0, kInfinity};
  if (moves_values(node)) return in();
  return all;
}

Range range_at(const Graph& graph, ValueId value, int depth) {
  const Node* node = depth < kMaxCodingDepth && value.valid() ? graph.producer(value) : nullptr;
  return node == nullptr ? Range{-kInfinity, kInfinity} : of_node(graph, *node, depth);
}

} // namespace

Range range_by_operators(const Graph& graph, ValueId value) {
  return range_at(graph, value, 0);
}

bool moves_values(const Node& node) {
  constexpr std::array<std::string_view, 14> kMoves = {
      "Identity", "Transpose", "Reshape", "Flatten",      "Squeeze",      "Unsqueeze", "Slice",
      "Gather",   "MaxPool",   "Expand",  "SpaceToDepth", "DepthToSpace", "Tile",      "Dropout"};
  if (!node.domain.empty() || std::find(kMoves.begin(), kMoves.end(), node.op_type) == kMoves.end())
    return false;
  if (node.op_type == "Dropout") return !node.input(2).valid();
  return node.outputs.size() == 1 || !node.output(1).valid();
}

} // namespace octet

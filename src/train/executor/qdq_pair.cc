// SPDX-License-Identifier: Apache-2.0
// Matching Q/DQ pairs.
#include "train/executor/qdq_pair.h"

#include <algorithm>

#include "ops/qdq/clamp.h"
#include "ops/qdq/site.h"

namespace octet::train {
namespace {

constexpr qdq::Reading kReading{.written_zero = false, .known_axis = true, .microsoft = false};

bool mirrors(const Graph& graph, const Node& quantize, const Node& dequantize) {
  const qdq::Written q = qdq::written(graph, quantize), dq = qdq::written(graph, dequantize);
  return dequantize.is("DequantizeLinear") &&
         qdq::have_same_parameters(graph, quantize, dequantize) && q.axis == dq.axis &&
         dq.block == 0 && dequantize.attr_int("output_dtype", 0) == 0;
}

/// Of codes that `clamp` lets through, if there is one.
bool fill_spec(const qdq::Grid& grid, const std::optional<qdq::Clamp>& clamp, QdqPair& pair) {
  FakeQuant& spec = pair.spec;
  spec.type = grid.codes;
  if (!can_fake_quantize(spec.type)) return false;
  auto [low, high] = train::code_range(spec.type);
  if (clamp) {
    if (!is_integer(spec.type)) return false;
    low = std::max(low, clamp->lo);
    high = std::min(high, clamp->hi);
  }
  const std::vector<double> zeros = grid.zeros();
  for (const double z : zeros) {
    if (z < low || z > high) return false; // no code would stand for 0, nor for NaN
    spec.low.push_back(static_cast<float>(low - z));
    spec.high.push_back(static_cast<float>(high - z));
  }
  pair.symmetric = is_integer(spec.type) && is_signed(spec.type) &&
                   std::all_of(zeros.begin(), zeros.end(), [](double z) { return z == 0; });
  spec.axis = grid.axis.value_or(spec.axis);
  return true;
}

} // namespace

std::optional<QdqPair> match_qdq_pair(const Graph& graph, const Uses& uses, const Node& quantize) {
  const auto site = qdq::read(graph, quantize, kReading);
  if (!site || !site->codes.valid() || graph.is_output(site->codes)) return std::nullopt;
  if (graph.value(site->real).type.type != site->grid.real()) return std::nullopt;
  QdqPair pair;
  pair.scale = site->scale;
  ValueId codes = site->codes;
  std::optional<qdq::Clamp> bounds;
  if (const Node* clamp = qdq::clamp_behind(graph, uses, codes)) {
    bounds = qdq::clamp_of(graph, *clamp);
    if (!bounds || graph.is_output(clamp->output(0))) return std::nullopt;
    pair.clamp = clamp->id;
    codes = clamp->output(0);
  }
  if (!fill_spec(site->grid, bounds, pair)) return std::nullopt;
  int scale_uses = 1;
  for (const Uses::Use& use : uses.of(codes)) {
    const Node& node = graph.node(use.node);
    if (use.input != 0 || !mirrors(graph, quantize, node)) return std::nullopt;
    pair.dequantizers.push_back(node.id);
    const ValueId copy = qdq::written(graph, node).scale;
    if (copy == site->scale)
      ++scale_uses;
    else if (std::find(pair.scale_copies.begin(), pair.scale_copies.end(), copy) ==
             pair.scale_copies.end())
      pair.scale_copies.push_back(copy);
  }
  if (pair.dequantizers.empty()) return std::nullopt;
  pair.shared = uses.count(site->scale) != scale_uses;
  return pair;
}

} // namespace octet::train

// SPDX-License-Identifier: Apache-2.0
//   codes ─▶ DQ(s) ─▶ product   =>   codes' ─▶ DQ(s') ─▶ product      s' > s for some channels
// Of products whose sums of codes have no room for a bias: the channels that lack it get the least
// scale that leaves some, and codes of their own. A weight with one scale gets one for each channel.
// Not exact: the weights of such a channel, which are tiny beside its bias, are rounded to steps
// that are 2^-29 of the bias for one code of x. Source: docs/targets.md 8.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "ops/evaluate.h"
#include "ops/qdq/bias.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/site.h"
#include "repair/recode.h"
#include "repair/rules.h"
#include "targets/onnxruntime/load.h"

namespace octet {

std::optional<Repair> widen_weight(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const auto lost = onnxruntime_lost_biases(graph, context.uses, context.target, node);
  if (!lost || !(lost->on_codes || lost->would_be) || lost->weight == nullptr) return std::nullopt;
  const Node& dequantize = *lost->weight;
  const auto old = qdq::grid_of(graph, dequantize);
  const auto weight = constant_value(graph, dequantize.output(0));
  if (!old || !weight || graph.producer(node.input(1)) != &dequantize) return std::nullopt;
  const int64_t channels = lost->bias->count();
  std::vector<double> scales, zeros;
  for (int64_t c = 0; c < channels; ++c) {
    scales.push_back(old->scale_at(c));
    zeros.push_back(old->zero_at(c));
  }
  for (const size_t c : lost->lost) {
    const double bias = std::abs(lost->bias->at(static_cast<int64_t>(c)));
    const double least = qdq::least_weight_scale(bias, lost->x_scale);
    if (least == 0) return std::nullopt;
    scales[c] = std::max(scales[c], qdq::as_float(least));
  }
  const Shape shape{channels};
  qdq::Grid grid = *old;
  grid.axis_written = onnxruntime_channel_axis(node);
  grid.axis = grid.axis_written;
  grid.scale = Tensor::from_doubles(old->real(), shape, scales).value();
  grid.zero = Tensor::from_doubles(old->codes, shape, zeros).value();
  const auto coded = recode(*weight, grid);
  if (!coded || !coded->bounded) return std::nullopt;
  Patch patch(
      graph,
      fmt::format("weights of {} channels get a larger scale, which leaves room for the bias "
                  "in the sum of codes",
                  lost->lost.size()),
      Exactness::kInexact);
  patch.from(dequantize);
  const std::string name = graph.value(dequantize.input(0)).name + "_widened";
  patch.set_input(
      node.id, 1,
      qdq::emit_dequantize(patch, grid, patch.constant(name + "_codes", coded->codes), name));
  return Repair{std::move(patch), coded->error};
}

} // namespace octet

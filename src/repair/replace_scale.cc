// SPDX-License-Identifier: Apache-2.0
//   scale of 0, NaN, infinity, subnormal or negative   =>   one that can be divided by
//   negative: its magnitude (stored codes change sign with it, exactly but for the lowest code)
//   a channel of a weight: codes and float weights are coded anew on the smallest usable scale of
//   the other channels, or 1
//   an activation: what data shows / 127; without data 1, and nothing bounds the cost
// Source: docs/targets.md 1.1 row 4, 6 (E4), 7.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "graph/label.h"
#include "ops/evaluate.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/site.h"
#include "repair/probe.h"
#include "repair/recode.h"
#include "repair/rules.h"

namespace octet {

namespace {

/// Negative scales by their magnitude, others that cannot be used by the smallest that can.
std::vector<double> mended(std::vector<double> scales) {
  double smallest = 1;
  bool found = false;
  for (double& s : scales) {
    if (qdq::is_usable_scale(-s)) s = -s;
    if (qdq::is_usable_scale(s) && (!found || s < smallest)) {
      smallest = s;
      found = true;
    }
  }
  for (double& s : scales)
    if (!qdq::is_usable_scale(s)) s = smallest;
  return scales;
}

std::string what(const qdq::Grid& grid) {
  for (int64_t i = 0; i < grid.count(); ++i)
    if (!qdq::is_usable_scale(grid.scale_at(i)))
      return fmt::format("scale {} is {}", i, grid.scale_at(i));
  return "";
}

std::optional<Repair>
replace_stored(const RepairContext& context, const Node& node, const qdq::Grid& grid) {
  const auto values = evaluate_constant(context.graph, node);
  const qdq::Grid better = grid.with(mended(grid.scales()));
  const auto recoded = values ? recode(values->front(), better) : std::nullopt;
  if (!recoded) return std::nullopt;
  const bool exact = recoded->bounded && recoded->error == 0;
  Patch patch(context.graph, what(grid) + ": the weight is coded anew on usable scales",
              exact ? Exactness::kExact : Exactness::kInexact);
  patch.from(node);
  const std::string name = name_of(context.graph, node);
  const ValueId codes = patch.constant(name + "_codes", recoded->codes);
  patch.replace(node.output(0), qdq::emit_dequantize(patch, better, codes, name));
  return Repair{std::move(patch), recoded->bounded ? std::optional(recoded->error) : std::nullopt};
}

/// Where the float weight is in the file, its own magnitudes say the scales that were lost.
std::vector<double> from_weight(const qdq::Grid& grid, const Tensor& weight) {
  const QuantLayout layout = grid.layout(weight.shape());
  std::vector<double> scales = grid.scales(), largest(scales.size(), 0.0);
  int64_t at = 0;
  for (int64_t o = 0; o < layout.outer; ++o)
    for (int64_t a = 0; a < layout.axis_size; ++a)
      for (int64_t i = 0; i < layout.inner; ++i, ++at) {
        double& m = largest[static_cast<size_t>(layout.scale_index(o, a, i))];
        m = std::max(m, std::abs(weight.at(at)));
      }
  for (size_t c = 0; c < largest.size(); ++c)
    if (!qdq::is_usable_scale(std::abs(scales[c])) && qdq::is_usable_scale(largest[c] / 127))
      scales[c] = qdq::as_float(largest[c] / 127);
  return mended(std::move(scales));
}

bool reads_these_codes(const RepairContext& context, const Node& quantize, const qdq::Grid& grid) {
  if (context.graph.is_output(quantize.output(0))) return false;
  for (const Uses::Use& use : context.uses.of(quantize.output(0))) {
    const Node& reader = context.graph.node(use.node);
    if (!is_dequantize(reader) || use.input != 0) return false;
    const auto theirs = qdq::grid_of(context.graph, reader, qdq::kAnyScale);
    if (!theirs || theirs->count() != grid.count() || theirs->zeros() != grid.zeros()) return false;
  }
  return true;
}

} // namespace

std::optional<Repair> replace_scale(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const auto grid = qdq::grid_of(graph, node, qdq::kAnyScale);
  if (!grid || grid->is_usable()) return std::nullopt;
  const Tensor* constant = graph.constant(node.input(0));
  if (is_dequantize(node))
    return constant == nullptr ? std::nullopt : replace_stored(context, node, *grid);
  if (!reads_these_codes(context, node, *grid)) return std::nullopt;
  const std::vector<double> old = grid->scales();
  std::vector<double> scales = constant != nullptr ? from_weight(*grid, *constant) : mended(old);
  const Range* seen = constant == nullptr ? context.range_of(node.input(0)) : nullptr;
  const bool negative = std::all_of(old.begin(), old.end(),
                                    [](double s) { return qdq::is_usable_scale(std::abs(s)); });
  if (seen != nullptr && !negative && grid->code_range()) {
    const double amax = std::max(std::abs(seen->lo), std::abs(seen->hi));
    if (qdq::is_usable_scale(amax / 127))
      std::fill(scales.begin(), scales.end(), qdq::as_float(amax / 127));
  }
  const qdq::Grid better = grid->with(scales);
  const auto cost = constant == nullptr
                        ? std::nullopt
                        : probe_difference(probe_graph(*grid), probe_graph(better), *constant);
  Patch patch(graph, what(*grid) + ": another takes its place",
              cost == 0.0 ? Exactness::kExact : Exactness::kInexact);
  patch.from(node);
  const std::string name = name_of(graph, node);
  const ValueId codes = qdq::emit_quantize(patch, better, node.input(0), name);
  for (const Uses::Use& use : context.uses.of(node.output(0))) {
    const Node& reader = graph.node(use.node);
    patch.from(reader);
    patch.replace(reader.output(0),
                  qdq::emit_dequantize(patch, better, codes, name_of(graph, reader)));
  }
  Repair repair{std::move(patch), cost};
  if (negative && !cost) repair.max_error = *std::max_element(scales.begin(), scales.end());
  if (constant == nullptr)
    repair.probe = Probe{graph.value(node.input(0)).name, probe_graph(*grid), probe_graph(better)};
  return repair;
}

} // namespace octet

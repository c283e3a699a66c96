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
#include "passes/evaluate.h"
#include "targets/repair/recode.h"
#include "targets/repair/rules.h"

namespace octet {

namespace {

bool is_usable(const Coding& coding) {
  return std::all_of(coding.scales.begin(), coding.scales.end(), is_usable_scale);
}

/// Negative scales by their magnitude, others that cannot be used by the smallest that can.
Coding mended(Coding coding) {
  double smallest = 1;
  bool found = false;
  for (double& s : coding.scales) {
    if (is_usable_scale(-s)) s = -s;
    if (is_usable_scale(s) && (!found || s < smallest)) {
      smallest = s;
      found = true;
    }
  }
  for (double& s : coding.scales)
    if (!is_usable_scale(s)) s = smallest;
  return coding;
}

std::string what(const Coding& coding) {
  for (size_t i = 0; i < coding.scales.size(); ++i)
    if (!is_usable_scale(coding.scales[i]))
      return fmt::format("scale {} is {}", i, coding.scales[i]);
  return "";
}

std::optional<Repair>
replace_stored(const RepairContext& context, const Node& node, const Coding& coding) {
  const auto values = evaluate_constant(context.graph, node);
  const Coding better = mended(coding);
  const auto recoded = values ? recode(values->front(), better) : std::nullopt;
  if (!recoded) return std::nullopt;
  const bool exact = recoded->bounded && recoded->error == 0;
  Patch patch(context.graph, what(coding) + ": the weight is coded anew on usable scales",
              exact ? Exactness::kExact : Exactness::kInexact);
  patch.from(node);
  const std::string name = name_of(context.graph, node);
  const ValueId codes = patch.constant(name + "_codes", recoded->codes);
  patch.replace(node.output(0), emit_dequantize(patch, better, codes, name));
  return Repair{std::move(patch), recoded->bounded ? std::optional(recoded->error) : std::nullopt};
}

/// Where the float weight is in the file, its own magnitudes say the scales that were lost.
Coding from_weight(Coding coding, const Tensor& weight) {
  const QuantLayout layout =
      quant_layout(weight.shape(), scale_tensor(coding).shape(), coding.axis, 0);
  std::vector<double> largest(coding.scales.size(), 0.0);
  int64_t at = 0;
  for (int64_t o = 0; o < layout.outer; ++o)
    for (int64_t a = 0; a < layout.axis_size; ++a)
      for (int64_t i = 0; i < layout.inner; ++i, ++at) {
        double& m = largest[static_cast<size_t>(layout.scale_index(o, a, i))];
        m = std::max(m, std::abs(weight.at(at)));
      }
  for (size_t c = 0; c < largest.size(); ++c)
    if (!is_usable_scale(std::abs(coding.scales[c])) && is_usable_scale(largest[c] / 127))
      coding.scales[c] = as_float(largest[c] / 127);
  return mended(std::move(coding));
}

bool reads_these_codes(const RepairContext& context, const Node& quantize, const Coding& coding) {
  if (context.graph.is_output(quantize.output(0))) return false;
  for (const Uses::Use& use : context.uses.of(quantize.output(0))) {
    const Node& reader = context.graph.node(use.node);
    const auto theirs = is_dequantize(reader) ? raw_coding_of(context.graph, reader) : std::nullopt;
    if (!theirs || use.input != 0 || theirs->zeros != coding.zeros ||
        theirs->scales.size() != coding.scales.size())
      return false;
  }
  return true;
}

} // namespace

std::optional<Repair> replace_scale(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const auto coding = is_qdq(node) ? raw_coding_of(graph, node) : std::nullopt;
  if (!coding || is_usable(*coding)) return std::nullopt;
  const Tensor* constant = graph.constant(node.input(0));
  if (is_dequantize(node))
    return constant == nullptr ? std::nullopt : replace_stored(context, node, *coding);
  if (!reads_these_codes(context, node, *coding)) return std::nullopt;
  Coding better = constant != nullptr ? from_weight(*coding, *constant) : mended(*coding);
  const Range* seen = constant == nullptr ? context.range_of(node.input(0)) : nullptr;
  const bool negative = std::all_of(coding->scales.begin(), coding->scales.end(),
                                    [](double s) { return is_usable_scale(std::abs(s)); });
  if (seen != nullptr && !negative && code_range(coding->codes)) {
    const double amax = std::max(std::abs(seen->lo), std::abs(seen->hi));
    if (is_usable_scale(amax / 127))
      for (double& s : better.scales)
        s = as_float(amax / 127);
  }
  const auto cost = constant == nullptr
                        ? std::nullopt
                        : probe_difference(probe_graph(*coding), probe_graph(better), *constant);
  Patch patch(graph, what(*coding) + ": another takes its place",
              cost == 0.0 ? Exactness::kExact : Exactness::kInexact);
  patch.from(node);
  const std::string name = name_of(graph, node);
  const ValueId codes = emit_quantize(patch, better, node.input(0), name);
  for (const Uses::Use& use : context.uses.of(node.output(0))) {
    const Node& reader = graph.node(use.node);
    patch.from(reader);
    patch.replace(reader.output(0), emit_dequantize(patch, better, codes, name_of(graph, reader)));
  }
  Repair repair{std::move(patch), cost};
  if (negative && !cost)
    repair.max_error = *std::max_element(better.scales.begin(), better.scales.end());
  if (constant == nullptr)
    repair.probe =
        Probe{graph.value(node.input(0)).name, probe_graph(*coding), probe_graph(better)};
  return repair;
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// A plan as a table for people.
#include <algorithm>

#include "core/format.h"
#include "core/string_util.h"
#include "quant/scheme.h"

#include "octet/quantize.h"

namespace octet {

namespace {

using Row = std::vector<std::string>;

std::string table(const std::vector<Row>& rows) {
  std::vector<size_t> width;
  for (const Row& row : rows)
    for (size_t c = 0; c < row.size(); ++c) {
      if (c >= width.size()) width.push_back(0);
      width[c] = std::max(width[c], row[c].size());
    }
  std::string out;
  for (const Row& row : rows) {
    std::string line;
    for (size_t c = 0; c < row.size(); ++c)
      line += fmt::format("{:<{}}", row[c], c + 1 < row.size() ? width[c] + 2 : 0);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::string range_text(const TensorPlan& tensor) {
  Range all = tensor.ranges.empty() ? Range{} : tensor.ranges[0];
  for (const Range& r : tensor.ranges)
    all = {std::min(all.lo, r.lo), std::max(all.hi, r.hi)};
  return fmt::format("[{:.4g}, {:.4g}]", all.lo, all.hi);
}

std::string parameters_text(const TensorPlan& tensor) {
  if (tensor.ranges.size() != 1) return fmt::format("{} scales", tensor.ranges.size());
  const QuantParameters p = parameters_for(tensor.scheme, tensor.ranges[0]);
  return fmt::format("scale {:.4g}, zero point {}", p.scale, p.zero_point);
}

std::string note_text(const TensorPlan& tensor) {
  if (!tensor.means) return tensor.note;
  return tensor.note + (tensor.note.empty() ? "" : "; ") + "its means correct biases behind it";
}

} // namespace

std::string QuantizationPlan::text() const {
  std::string out = fmt::format("{} quantization for {}", name(mode), target);
  if (mode == QuantMode::kStatic) out += fmt::format(", {} on {} samples", calibrator, samples);
  if (one_at_a_time) out += ", one at a time, since the network mixes those of a batch";
  for (const PlanTrial& trial : trials)
    out += fmt::format("\n{}: {:.1f} dB of the outputs on {}", trial.what, trial.sqnr,
                       held_back > 0 ? fmt::format("{} examples held back", held_back)
                                     : "examples that were observed too");
  for (const LayerCost& layer : costly)
    out += fmt::format("\n{} alone in 8 bits: {:.1f} dB", layer.node, layer.sqnr);
  std::vector<Row> rows = {{"node", "operator", "is in", "why", "source"}};
  for (const NodePlan& n : nodes)
    rows.push_back({n.node, n.op,
                    n.quantized                   ? "codes"
                    : n.rule == Placed::kCommutes ? "as its neighbours"
                    : n.rule == Placed::kInCodes  ? "as the file has it"
                                                  : "float",
                    n.why, n.clause.empty() ? "" : "targets " + n.clause});
  out += "\n\n" + table(rows);
  rows = {{"tensor", "format", "granularity", "range", "parameters", "by", "note"}};
  for (const TensorPlan& t : tensors)
    rows.push_back({t.value, scheme_text(t.scheme),
                    !t.axis       ? "per tensor"
                    : t.block > 0 ? fmt::format("blocks of {}, axis {}", t.block, *t.axis)
                                  : fmt::format("axis {}", *t.axis),
                    range_text(t), parameters_text(t), t.algorithm, note_text(t)});
  out += "\n" + table(rows);
  if (steps.empty()) return out;
  rows = {{"step", "stage", "error before", "after", "why", "needs"}};
  for (const PlanStep& s : steps)
    rows.push_back({s.id, std::string(name(stage(s.kind))), fmt::format("{:.3g}", s.before),
                    fmt::format("{:.3g}", s.after), s.why, join_some(s.needs, 3)});
  return out + "\n" + table(rows);
}

} // namespace octet

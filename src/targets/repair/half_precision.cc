// SPDX-License-Identifier: Apache-2.0
// The float parts of a repaired graph in 16 bits, for networks whose file decides every type
// (TensorRT's strongly typed ones). Layers whose values, by the data, overflow or lose too much
// stay in f32 with casts around them; constants that only mask are clamped. Source:
// docs/targets.md 1.4, 9.
#include <algorithm>

#include "quant/calibrate.h"
#include "targets/repair/rule.h"

#include "octet/export.h"

namespace octet {

namespace {

/// Beyond it no layer computes: such numbers are masks, which are clamped.
constexpr double kMaskConstant = 1e30;

Result<std::map<std::string, Range>> float_ranges(const Graph& graph,
                                                  const RepairOptions& options) {
  std::vector<ObserveRequest> requests;
  for (const NodeId id : graph.nodes())
    for (const ValueId out : graph.node(id).outputs)
      if (out.valid() && graph.value(out).type.type == DType::kFloat32)
        requests.push_back({out, Scheme{}});
  for (const ValueId in : graph.inputs())
    if (graph.value(in).type.type == DType::kFloat32) requests.push_back({in, Scheme{}});
  QuantizeOptions how;
  how.executor = options.executor;
  const Calibration seen = OCTET_TRY(calibrate(graph, requests, options.data(), how, 0));
  std::map<std::string, Range> out;
  for (const auto& [value, observation] : seen.values)
    if (observation.range.lo > -kMaskConstant && observation.range.hi < kMaskConstant)
      out[graph.value(value).name] = observation.range;
  return out;
}

} // namespace

Status half_precision(const Graph& came, const RepairOptions& options, Repaired& repaired) {
  if (options.precision == DType::kUndefined) return ok_status();
  PrecisionOptions how;
  how.type = options.precision;
  if (options.data) how.ranges = OCTET_TRY(float_ranges(repaired.graph, options));
  const std::vector<ExportNote> notes = OCTET_TRY(convert_precision(repaired.graph, how));
  Change change;
  change.rule = "half_precision";
  change.node = repaired.graph.name;
  change.why = "what was f32 is computed in " + std::string(name(options.precision)) +
               (options.data ? "" : "; without data only constants say what overflows");
  change.exact = false;
  change.max_error = std::nullopt;
  repaired.changes.push_back(std::move(change));
  for (const ExportNote& note : notes) {
    Change noted;
    noted.rule = note.rule;
    noted.node = note.node;
    noted.why = note.why;
    noted.exact = note.exact;
    if (!note.exact) noted.max_error = std::nullopt;
    repaired.changes.push_back(std::move(noted));
  }
  return options.data ? measure_outputs(came, options, repaired) : ok_status();
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// The float parts of a repaired graph in 16 bits, for networks whose file decides every type
// (TensorRT's strongly typed ones). Layers whose values, by the data, overflow or lose too much
// stay in f32 with casts around them; constants that only mask are clamped. Source:
// docs/targets.md 1.4, 9.
#include <cmath>

#include "core/format.h"
#include "repair/rule.h"

#include "octet/export.h"

namespace octet {

Status half_precision(const RepairOptions& options, Repaired& repaired) {
  PrecisionOptions how;
  how.type = options.precision;
  if (options.data)
    how.ranges = OCTET_TRY(precision_ranges(repaired.graph, options.data(), options.executor));
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
  return ok_status();
}

void refuse_overflow(const RepairOptions& options, Repaired& repaired) {
  if (options.precision == DType::kUndefined) return;
  for (const OutputDifference& d : repaired.outputs)
    if (!std::isfinite(d.max_error))
      repaired.left.push_back(
          {.rule = "half-precision-overflow",
           .severity = Severity::kError,
           .node = d.output,
           .message = fmt::format("computed in {}, the output is inf or NaN on the data, which in "
                                  "the file as it came it is not",
                                  name(options.precision)),
           .fix = options.precision == DType::kFloat16 ? "use --precision bf16, or leave it out"
                                                       : "leave --precision out",
           .source = "9"});
}

} // namespace octet

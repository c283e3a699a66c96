// SPDX-License-Identifier: Apache-2.0
// Repair: rewrites a quantized graph until a target takes it, and says of every change whether
// numbers change and by how much. The table of findings and repairs is docs/repair.md.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "octet/quantize.h"
#include "octet/target.h"

namespace octet {

/// How weights are to be written where the target takes both forms.
enum class WeightForm {
  kKeep,   ///< as they came, unless the target's check asks for another form
  kStored, ///< int8 codes and DequantizeLinear
  kFloat,  ///< float constant, QuantizeLinear, DequantizeLinear
};

/// Scales that could be one: of what a Concat joins, of several quantizers of one tensor.
enum class ScaleForm {
  kKeep,
  kUnified, ///< the largest of them; costs accuracy, saves requantization in TensorRT
};

/// Q and DQ inside attention, which TensorRT runs as one kernel only in some forms.
enum class AttentionForm {
  kKeep,
  kInt8, ///< at all the places that the int8 kernel asks for, none where it does not take the sizes
  kFloat, ///< none inside: the kernel of 16 bits
};

/// Where a zero point goes that the target does not take.
enum class ZeroPointForm {
  kShift, ///< the same codes and scale; a constant before Q and behind DQ, in biases where it can
  kWiden, ///< no nodes more; a scale wide enough for both signs, up to twice the step
};

struct RepairOptions {
  /// Opens the data anew: once to take ranges, once to measure what the changes cost. Empty: ranges
  /// come from the file's own scales and costs are bounds.
  std::function<CalibrationSource()> data;
  /// A graph input that is 0 where the others hold padding, of the leading dimensions of the values
  /// that it masks: ranges do not count what it leaves out. Empty: everything counts.
  std::string mask_input;
  WeightForm weights = WeightForm::kKeep;
  ScaleForm scales = ScaleForm::kKeep;
  AttentionForm attention = AttentionForm::kKeep;
  ZeroPointForm zero_points = ZeroPointForm::kShift;
  /// kFloat16 or kBfloat16: what is f32 after the repairs is computed so, but for layers that the
  /// data's ranges or constants rule out. kUndefined: nothing changes.
  DType precision = DType::kUndefined;
  /// Runs graphs on the data; empty: the reference executor.
  ExecutorFactory executor;
};

/// One applied repair.
struct Change {
  std::string rule; ///< a verb: "fold_bias"
  std::string node;
  std::string why;
  bool exact = true; ///< every output bit stays
  /// Of the value that the repaired nodes give: a bound from the scales, or with data the largest
  /// difference seen on it. Nullopt: nothing bounds it and no data was given.
  std::optional<double> max_error = 0;
  bool measured = false; ///< `max_error` was seen on the data
};

/// How far an output of the repaired graph was from the original's on the data.
struct OutputDifference {
  std::string output;
  double max_error = 0;
};

struct Repaired {
  Graph graph;
  std::vector<Change> changes;
  std::vector<Finding> left;             ///< what check(graph, target) still finds; see accepted()
  std::vector<OutputDifference> outputs; ///< empty without data
};

/// Repairs what check() finds. A graph that is accepted comes back unchanged. What cannot be
/// repaired is in `left`. Errors: an unknown target, a graph whose types do not fit together; with
/// data, an operator that octet cannot run (before any data is asked for), data that does not fit
/// the graph.
Result<Repaired>
repair(const Graph& graph, std::string_view target, const RepairOptions& options = {});

/// Only what the errors of check() ask for, and only by changes that keep every output bit; a graph
/// that takes others comes back as it was. Errors: as of repair().
Result<Repaired> mend_exactly(const Graph& graph, std::string_view target);

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// What a repair is: a pure function that looks at one node and returns the patch that mends it,
// with its cost. One repair a file; rules.h lists them, the rewrite driver of passes applies them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/patch.h"
#include "passes/edit_bodies.h"
#include "targets/mend.h"
#include "targets/tables.h"

#include "octet/repair.h"

namespace octet {

/// Ranges that data showed of float values, by the value's name.
using ObservedRanges = std::map<std::string, Range, std::less<>>;

struct RepairContext {
  const Graph& graph;
  const Uses& uses;
  const TargetDef& target;
  const ObservedRanges& observed;
  WeightForm weights = WeightForm::kKeep;
  ScaleForm scales = ScaleForm::kKeep;
  AttentionForm attention = AttentionForm::kKeep;
  ZeroPointForm zero_points = ZeroPointForm::kShift;

  bool is_tensorrt() const { return target.family == TargetFamily::kTensorRt; }
  const Range* range_of(ValueId value) const;
};

/// A function of one float value, before and after a repair: with data, both are run on what the
/// value was. Each graph has one input and one output.
struct Probe {
  std::string value;
  Graph before, after;
};

struct Repair {
  Patch patch;
  std::optional<double> max_error = 0; ///< see Change
  std::optional<Probe> probe = std::nullopt;

  /// A repair that keeps every bit.
  static Repair exact(Patch patch) { return {std::move(patch)}; }
};

using RepairFn = std::optional<Repair>(const RepairContext&, const Node&);

struct RepairRule {
  std::string_view name; ///< what reports call it
  RepairFn* apply;
};

std::vector<RepairRule> repair_rules(std::span<const Mend> mends);

/// What must be mended before types can be inferred.
std::span<const Mend> type_repairs();
/// Applied to a fixed point, in the order of the list: forms first (numbers may only change in the
/// last bit), then scales and zero points. Between the two, ranges are taken from the data.
std::span<const Mend> form_repairs(TargetFamily family);
std::span<const Mend> number_repairs(TargetFamily family);

/// Applies rules to a fixed point, in the graph and in the bodies of If, Loop and Scan. In there
/// neither ranges nor probes are had: no data shows what a body computes. A body whose types do not
/// fit, even after type_repairs(), stays as it is. Errors: a rule that breaks the graph, or that
/// does not converge.
class RepairDriver {
 public:
  RepairDriver(Graph& graph, const TargetDef& target, const RepairOptions& options)
      : graph_(graph), target_(target), options_(options) {}

  Status run(std::span<const Mend> mends);
  Status run(std::span<const RepairRule> rules);
  void set_ranges(ObservedRanges ranges) { observed_ = std::move(ranges); }
  std::vector<Change>& changes() { return changes_; }
  /// In the order of `changes`.
  const std::vector<std::optional<Probe>>& probes() const { return probes_; }

 private:
  /// The graph, or a body standing alone with the path to it and the names around it.
  struct Place {
    Graph& graph;
    std::string path;
    const TakenNames* around;
  };

  Status graph_and_bodies(const Place& place, std::span<const RepairRule> rules);
  bool take_codes_out(const Place& place);
  Result<bool> body(const Place& place, std::span<const RepairRule> rules);
  Status to_fixed_point(const Place& place, std::span<const RepairRule> rules);

  Graph& graph_;
  const TargetDef& target_;
  const RepairOptions& options_;
  ObservedRanges observed_;
  size_t limit_ = 0; ///< of changes, beyond which they do not converge
  std::vector<Change> changes_;
  std::vector<std::optional<Probe>> probes_;
};

/// Moves DQ of captured codes with a zero point out of the bodies of a node, where nothing else
/// reads them in there, so that Q and DQ can be repaired together.
std::vector<Change> move_dequantizers_out(Graph& graph, NodeId id);
/// By node: how many values each of its bodies has.
using BodyBounds = std::map<NodeId, std::vector<int32_t>>;
BodyBounds body_bounds(const Graph& graph);
/// Keeps large constants that bodies got since then, and that are equal to one another or to one of
/// the graph, once in the graph. New names are none of `taken`.
void share_constants(Graph& graph, const BodyBounds& before, const TakenNames& taken);
/// Adds to the fixes of what check finds after repair why it is left, where a body is why.
void explain_what_bodies_leave(const Graph& graph, std::vector<Finding>& left);

/// Writes the graph for the operator set and the file format that the target reads. Returns why it
/// keeps its operator set, where it cannot be written in an earlier one; else nothing.
std::string lower_versions(std::string_view target, Repaired& repaired);
/// Says that in the fix of what check finds.
void explain_what_stays_too_new(const std::string& why_not, std::vector<Finding>& left);

/// An error names a node of the graph, or of a body in it, that octet cannot run. `graph` stands at
/// `path` in `model`.
Status check_runs(const Graph& model, const Graph& graph, const std::string& path);
/// The graph as it came, with standard operators for what octet cannot run, equal in real
/// arithmetic. Errors: there is a node without any.
Result<Graph> as_it_runs(const Graph& came, const TargetDef& target);

/// The ranges of what is quantized in the graph. Errors: see calibrate().
Result<ObservedRanges> observe_ranges(const Graph& graph, const RepairOptions& options);
/// Replaces bounds by what the data shows, and compares the outputs of both graphs.
Status measure(const Graph& before,
               const RepairOptions& options,
               const RepairDriver& driver,
               Repaired& repaired);
/// Only the outputs, as the repaired graph is now.
Status measure_outputs(const Graph& before, const RepairOptions& options, Repaired& repaired);
/// Does what RepairOptions::precision says, after all else.
Status half_precision(const RepairOptions& options, Repaired& repaired);
/// No parser refuses a graph whose outputs the data shows to overflow in 16 bits, but it is of no
/// use: it is left as an error.
void refuse_overflow(const RepairOptions& options, Repaired& repaired);

} // namespace octet

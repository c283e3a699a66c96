// SPDX-License-Identifier: Apache-2.0
// Everything that the library makes of one model: outputs of its executors, rewritten files, and
// whether its executors have the same bits.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "octet/graph.h"

namespace octet::differential {

using InputSets = std::vector<std::vector<Tensor>>;

struct Answers {
  /// "reference", "lowered", "simplified", ...: outputs for each set of inputs.
  std::map<std::string, std::vector<std::vector<Tensor>>> outputs;
  std::map<std::string, std::string> files; ///< "simplified", "qoperator", ...: ONNX
  /// What was refused, with the reason; "check <file>" where the rules for ONNX Runtime do.
  std::map<std::string, std::string> refusals;
  std::vector<std::string> findings;     ///< executors whose bits differ
  std::map<std::string, int64_t> counts; ///< how much of what was asked was tried
};

/// Outputs of a run for each set of inputs, by `run(inputs)`.
using OutputSets = std::vector<std::vector<Tensor>>;
template <class Run>
Result<OutputSets> run_sets(const InputSets& sets, Run run) {
  OutputSets out;
  for (const std::vector<Tensor>& inputs : sets)
    out.push_back(OCTET_TRY(run(inputs)));
  return out;
}
Result<OutputSets> run_reference(const Graph& graph, const InputSets& sets);
/// "value float", "error float" and the same for "codes" (bounds.h).
void answer_bounds(const Graph& graph, const InputSets& sets, Answers& answers);
/// The first element whose bits differ, in words; NaN is NaN whatever its payload.
std::string differing_bits(const OutputSets& a, const OutputSets& b);

/// `variant` chooses the instruction set that runs with several threads; `bounds` are wanted where
/// every operator has a rule (rules.h).
Answers answer(const Graph& graph, const InputSets& sets, int64_t variant, bool bounds);

} // namespace octet::differential

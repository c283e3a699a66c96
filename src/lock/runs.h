// SPDX-License-Identifier: Apache-2.0
// What a lock keeps of a run.
#pragma once

#include "octet/lock.h"

namespace octet {

using NamedOutputs = std::vector<std::pair<std::string, Tensor>>;

/// What is made within a run on `inputs`.
struct LockedRun {
  std::string isa;
  uint64_t lowered = 0;             ///< hash of the graph that ran
  std::vector<LockedHash> values;   ///< in the order in which they were made
  std::vector<std::string> made_by; ///< for each value, the label of its node
};
Result<LockedRun>
run_and_hash(const Graph& graph, std::span<const Tensor> inputs, const SessionOptions& options);

/// The outputs that differ from those of the lock, in words. Errors: as changed_outputs.
Result<LockFindings> compare_outputs(const Lock& lock, const NamedOutputs& outputs);

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// What a lock keeps of a run.
#pragma once

#include "octet/lock.h"

namespace octet {

/// What is made within a run on `inputs`.
struct LockedRun {
  std::string isa;
  uint64_t lowered = 0;             ///< hash of the graph that ran
  std::vector<LockedHash> values;   ///< in the order in which they were made
  std::vector<std::string> made_by; ///< for each value, the label of its node
};
/// `session` keeps its weights, and `options` are what it was made with.
Result<LockedRun>
run_and_hash(const Session& session, std::span<const Tensor> inputs, const SessionOptions& options);

} // namespace octet

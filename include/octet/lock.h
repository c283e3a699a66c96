// SPDX-License-Identifier: Apache-2.0
// Locks: what a model is and what it computed, kept so that another machine, version or runtime can
// be held against it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "octet/graph.h"
#include "octet/session.h"

namespace octet {

/// The hash (XXH64) of one thing that has a name.
struct LockedHash {
  std::string name;
  uint64_t hash = 0;
};

/// What a model got right of labelled examples.
struct LockedAccuracy {
  std::string data;         ///< kind:path
  int64_t examples = 0;     ///< the first ones of the data set
  double accuracy = 0;      ///< 0 to 1
  double low = 0, high = 0; ///< 95 % interval
  uint64_t predictions = 0; ///< hash of the predicted classes, i64 in order
};

struct Lock {
  std::string octet; ///< version that made it
  std::string isa;   ///< instruction set that it was made with
  std::string model; ///< as it was named then
  /// Lines of the textual form (octet/graph_text.h): inputs, constants by their hash, nodes, outputs.
  std::vector<LockedHash> parts;
  uint64_t lowered = 0;           ///< hash of the graph that ran: Session::lowered()
  std::vector<LockedHash> values; ///< of the lowered graph, in the order in which they were made
  std::vector<std::pair<std::string, Tensor>> inputs, outputs;
  std::optional<LockedAccuracy> accuracy;
};

/// Runs the model on `inputs`, one tensor for each graph input. Errors: as Session::create and run.
Result<Lock>
make_lock(const Graph& graph, std::span<const Tensor> inputs, const SessionOptions& options = {});

/// JSON, and the tensors as an npz file beside it (model.lock.json: model.lock.npz), which is
/// written first and whose arrays are named inputs/NAME and outputs/NAME.
Status save_lock(const Lock& lock, const std::string& path, bool overwrite = false);
/// Errors: no lock, one of a later form, arrays beside it that are not those it was written with.
Result<Lock> load_lock(const std::string& path);

/// What is not as a lock has it, in words; empty: nothing.
using LockFindings = std::vector<std::string>;

/// Constants (scales and zero points by what they are), nodes, inputs and outputs that changed, are
/// new or are gone: the first `most` of each, and how many more.
LockFindings changed_parts(const Lock& lock, const Graph& graph, size_t most = 5);

/// Runs the model on the lock's inputs: outputs with other bits or sizes, or that are missing, and
/// then the first value within the model that differs. Of a model that does not run on them: the
/// input that the lock lacks, or what fails, as the one finding. `batch` above 0 runs so many
/// examples (along the first axis of every input and output) at a time. Errors: a batch where
/// examples lie along no common axis or the model fixes how many there are, a cancelled run.
Result<LockFindings> changed_results(const Lock& lock,
                                     const Graph& graph,
                                     const SessionOptions& options = {},
                                     int64_t batch = 0);

/// The same of outputs that someone else computed from the lock's inputs, by name. Errors: an output
/// that is missing, or of another type or shape.
Result<LockFindings> changed_outputs(const Lock& lock,
                                     std::span<const std::pair<std::string, Tensor>> outputs);

} // namespace octet

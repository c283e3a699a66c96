// SPDX-License-Identifier: Apache-2.0
// Executor: a graph made ready to run. The reference, native and torch executors are three.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "octet/graph.h"

namespace octet {

/// Takes output `output` of a run. The tensor is valid during the call only: clone() what is to
/// stay. An error ends the run, which returns it.
using OutputTap = std::function<Status(size_t output, const Tensor& value)>;

/// Takes output `output` of a run as it lies in memory: axis i of `stored` is axis axes[i] of the
/// output, and without axes `stored` is the output. Otherwise as OutputTap.
using StoredTap =
    std::function<Status(size_t output, const Tensor& stored, std::span<const int64_t> axes)>;

class Executor {
 public:
  virtual ~Executor() = default;
  /// One tensor for each graph input, in their order; returns one for each graph output.
  /// Errors name the input, both shapes or types, or the node that failed.
  virtual Result<std::vector<Tensor>> run(std::span<const Tensor> inputs) = 0;
  /// A run that hands each output to `tap` once, as soon as it is made, and keeps it no longer than
  /// the graph itself needs it: what a graph of many outputs takes is what it takes without them.
  /// In the order in which they are made. One that cannot do so hands them over at the end.
  virtual Status stream(std::span<const Tensor> inputs, const OutputTap& tap);
  /// The same for those who take elements in any order, without the work of putting them into the
  /// order of the outputs.
  virtual Status stream_stored(std::span<const Tensor> inputs, const StoredTap& tap);
};

using ExecutorFactory = std::function<Result<std::unique_ptr<Executor>>(const Graph&)>;

/// The specification: every operator's `eval`, one after the other. Slow and exact.
Result<std::unique_ptr<Executor>> make_reference_executor(const Graph& graph);

} // namespace octet

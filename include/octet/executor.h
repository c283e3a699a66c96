// SPDX-License-Identifier: Apache-2.0
// Executor: a graph made ready to run. The reference, native and torch executors are three.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "octet/graph.h"

namespace octet {

class Executor {
 public:
  virtual ~Executor() = default;
  /// One tensor for each graph input, in their order; returns one for each graph output.
  /// Errors name the input, both shapes or types, or the node that failed.
  virtual Result<std::vector<Tensor>> run(std::span<const Tensor> inputs) = 0;
};

using ExecutorFactory = std::function<Result<std::unique_ptr<Executor>>(const Graph&)>;

/// The specification: every operator's `eval`, one after the other. Slow and exact.
Result<std::unique_ptr<Executor>> make_reference_executor(const Graph& graph);

} // namespace octet

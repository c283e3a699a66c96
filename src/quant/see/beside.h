// SPDX-License-Identifier: Apache-2.0
// Runs two graphs on the same inputs and hands over their values in pairs, as they are made, so that
// what is kept is what the two runs keep.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/progress.h"

#include "octet/executor.h"

namespace octet {

/// Takes pair `pair` of two runs; the tensors are valid during the call only.
using PairTap = std::function<Status(size_t pair, const Tensor& first, const Tensor& second)>;

class RunBeside {
 public:
  /// Values of two graphs whose inputs correspond in number and order: graph inputs or what nodes
  /// make. Empty `make`: the reference executor. Errors: a graph that cannot be run.
  static Result<RunBeside> create(const Graph& first,
                                  const Graph& second,
                                  std::span<const std::pair<ValueId, ValueId>> pairs,
                                  const ExecutorFactory& make = {});
  /// Each pair once, in the order in which the later of the two is made. The one that is ahead waits,
  /// and its value is copied only where the two make values in different orders. Where a value is
  /// computed from others depends on the graphs alone: so does the order. Calls of `tap` do not
  /// overlap. kCancelled once `cancel` is raised.
  Status
  run(std::span<const Tensor> inputs, const PairTap& tap, const CancelToken* cancel = nullptr);

  /// One of the graphs with the values that are looked at as its outputs.
  struct Side {
    std::unique_ptr<Executor> executor;           ///< null: graph inputs alone
    std::vector<std::vector<size_t>> pairs;       ///< by output
    std::vector<std::pair<size_t, size_t>> given; ///< pair, graph input
  };

 private:
  RunBeside() = default;
  Side sides_[2];
};

} // namespace octet

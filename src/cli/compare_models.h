// SPDX-License-Identifier: Apache-2.0
// Two graphs on the same random inputs: by how much their outputs differ.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "octet/executor.h"

namespace octet::cli {

struct Difference {
  int runs = 0;
  double absolute = 0; ///< the largest over all elements of all outputs
  double relative = 0; ///< the same, each over the largest magnitude of its output (1 at least)
  std::string output;  ///< where the relative one is; empty when all are equal
};

/// Runs both `runs` times on `inputs(run)`. Outputs are compared by name; NaN equals NaN.
/// Errors: a run that fails, an output that is missing or has another type or shape.
Result<Difference>
compare_models(const Graph& before,
               const Graph& after,
               const ExecutorFactory& make,
               int runs,
               const std::function<Result<std::vector<Tensor>>(int)>& inputs,
               const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& for_after);

} // namespace octet::cli

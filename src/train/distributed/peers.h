// SPDX-License-Identifier: Apache-2.0
// The processes that train one model together, over c10d's Gloo. Tensors on a CUDA device travel
// through the host.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "octet/train.h"

namespace octet::train {

/// All calls must be made by every process in the same order. An error means that another process
/// is gone or did not answer in time: the run cannot go on.
class Peers {
 public:
  virtual ~Peers() = default;
  /// Waits for the others. Errors: no connection within the timeout; kCancelled once `cancel`,
  /// which may be null, is raised.
  static Result<std::unique_ptr<Peers>> join(const World& world, const CancelToken* cancel);

  /// Each tensor becomes the sum over all processes.
  virtual Status sum(const std::vector<at::Tensor>& tensors) = 0;
  virtual Result<std::vector<double>> sum(const std::vector<double>& values) = 0;
  /// An error where `text` differs from rank 0's; `what` says what it is.
  virtual Status agree(const std::string& text, const char* what) = 0;
};

} // namespace octet::train

// SPDX-License-Identifier: Apache-2.0
// Dropping elements while training.
#pragma once

#include <ATen/core/Tensor.h>

namespace octet::train {

struct RunState;

/// x with each element 0 with probability `ratio`, in (0, 1), and else divided by 1 - ratio. Which
/// ones is a function of seed and step of the run, the node and the element's place.
at::Tensor dropout(const at::Tensor& x, double ratio, const RunState& run, int node);

} // namespace octet::train

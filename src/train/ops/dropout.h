// SPDX-License-Identifier: Apache-2.0
// Dropping elements while training.
#pragma once

#include <ATen/core/Tensor.h>

namespace octet::train {

struct RunState;

/// x with each element 0 with probability `ratio`, in (0, 1), and else divided by 1 - ratio. Which
/// ones is a function of seed and step of the run, the node and the element's place.
at::Tensor dropout(const at::Tensor& x, double ratio, const RunState& run, int node);

/// What `dropout` multiplies by, in f32: 0 with that probability, else 1 / (1 - ratio). The first
/// draws in the host's memory; the second says the same by operators of x's device, since a device
/// would wait for a copy.
at::Tensor keep_mask(const at::Tensor& x, double ratio, const RunState& run, int node);
at::Tensor keep_mask_there(const at::Tensor& x, double ratio, const RunState& run, int node);

} // namespace octet::train

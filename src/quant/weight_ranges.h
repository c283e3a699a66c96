// SPDX-License-Identifier: Apache-2.0
// Ranges of weights, for tensors, channels or blocks.
#pragma once

#include "octet/quantize.h"
#include "octet/tensor.h"

namespace octet {

/// One range for each scale of a weight's plan, in the order of the scales, by the calibrator and on
/// the plan's grid. Of integer grids of fewer than 8 bits with f32 scales, min-max takes the range
/// from extreme to extreme or, where that brings all numbers together nearer (squared error, of
/// which that of clipped ones counts three times), the one of the smallest step with which none errs
/// by more than half of it: the extreme is half a step beyond the last code. The second is
/// for 62 numbers and more in 4 bits, 26 in 3 and 9 in 2. Numbers on a grid stay as they are.
/// Errors: what an observer says, infinities in blocks.
Result<std::vector<Range>>
weight_ranges(const Tensor& weight, const TensorPlan& plan, const Calibrator& calibrator);

} // namespace octet

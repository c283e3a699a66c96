// SPDX-License-Identifier: Apache-2.0
// Ranges of weights that are cut into blocks.
#pragma once

#include "octet/quantize.h"
#include "octet/tensor.h"

namespace octet {

/// One range for each scale of a plan with blocks, in the order of the scales, by the calibrator and
/// on the plan's grid. Errors: what an observer says, infinities.
Result<std::vector<Range>>
block_ranges(const Tensor& weight, const TensorPlan& plan, const Calibrator& calibrator);

} // namespace octet

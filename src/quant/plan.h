// SPDX-License-Identifier: Apache-2.0
// Planning for a target whose placement is known.
#pragma once

#include "quant/placement.h"
#include "quant/steps/step.h"

#include "octet/quantize.h"

namespace octet {

/// octet::plan_quantization with the placement handed in; `options.target` is not read. The data is
/// opened once, and for each pass of the steps.
Result<QuantizationPlan> make_plan(const Graph& graph,
                                   const Placement& placement,
                                   const OpenCalibration& open,
                                   const QuantizeOptions& options,
                                   int64_t samples);

} // namespace octet

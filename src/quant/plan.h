// SPDX-License-Identifier: Apache-2.0
// Planning for a target whose placement is known.
#pragma once

#include <set>
#include <string>

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

/// Placement and ranges alone, of a graph that is prepared and behind the steps of the stage `float`.
/// Nodes named in `in_float` stay there. The source is read only where a range is not in
/// `options.ranges`.
Result<QuantizationPlan> plan_prepared(Graph graph,
                                       const Placement& placement,
                                       const CalibrationSource& source,
                                       const QuantizeOptions& options,
                                       const std::set<std::string>& in_float);

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// The range that each calibrator takes from a histogram, one file a calibrator.
#pragma once

#include "quant/observers/histogram.h"

#include "octet/observer.h"

namespace octet {

/// {0, 0} where nothing but zeros was counted. Of a histogram that holds something else:
/// min-max and `auto` the extremes, the others as below.
Range histogram_range(const Histogram& histogram,
                      const Calibrator& calibrator,
                      const Scheme& scheme);

/// The extremes, each within `edge` of 0: what lies beyond on one side alone becomes one number.
Range clipped_range(const Histogram& histogram, double edge);

Range percentile_range(const Histogram& histogram, double p, const Scheme& scheme);
Range entropy_range(const Histogram& histogram);
/// Whether its levels are codes of the scheme; of others histogram_range takes the extremes.
bool has_entropy_levels(const Scheme& scheme);
Range mse_range(const Histogram& histogram, const Scheme& scheme, double clipped);

} // namespace octet

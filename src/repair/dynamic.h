// SPDX-License-Identifier: Apache-2.0
// What the repairs of dynamic quantization share.
#pragma once

#include "ops/qdq/grid.h"

#include "octet/repair.h"

namespace octet {

/// Of the codes that take the place of dynamic ones. Their range is all that was seen on the data:
/// a tensor's own was from its smallest to its largest value too, so nothing is cut off that was
/// not cut off before.
Scheme dynamic_scheme(ZeroPointForm zero_points);
/// uint8 over the range that was seen.
qdq::Grid static_grid(ZeroPointForm zero_points, const Range& seen);
/// DynamicQuantizeLinear and DQ of one value.
Graph dynamic_probe();

} // namespace octet

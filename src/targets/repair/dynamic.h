// SPDX-License-Identifier: Apache-2.0
// What the repairs of dynamic quantization share.
#pragma once

#include "targets/repair/coding.h"

namespace octet {

/// Codes of dynamic quantization are fitted to the data by this scheme, with the smallest mean
/// squared error: a range of all that was seen would be coarser than any tensor's own.
Scheme dynamic_scheme(ZeroPointForm zero_points);
/// uint8 over the range that was fitted.
Coding static_coding(ZeroPointForm zero_points, const Range& fitted);
/// DynamicQuantizeLinear and DQ of one value.
Graph dynamic_probe();

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// What the repairs of dynamic quantization share.
#pragma once

#include "targets/repair/coding.h"

namespace octet {

/// uint8 with zero point 128 over the magnitude that data showed.
Coding static_coding(const Range& seen);
/// DynamicQuantizeLinear and DQ of one value.
Graph dynamic_probe();

} // namespace octet

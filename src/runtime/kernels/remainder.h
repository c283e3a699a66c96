// SPDX-License-Identifier: Apache-2.0
// C's fmod of floats, with broadcasting.
#pragma once

#include "runtime/kernels/broadcast.h"

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

void remainders(
    const BroadcastPlan& plan, const float* a, const float* b, float* y, ParallelFor& parallel);

} // namespace octet::kernels

// SPDX-License-Identifier: Apache-2.0
// Whether attention gives a masked key the probability of exactly 0: where softmax finds its score
// so far below that of any key which is not masked that e^x is 0.
#pragma once

#include <optional>
#include <span>

#include "core/numerics/program.h"

namespace octet::packing {

/// Numbers from lo to hi; infinities count, NaN is none of them.
struct Interval {
  double lo = 0, hi = 0;
};

/// What a program gives for operands within those intervals; nullopt where that is not known.
std::optional<Interval> program_bounds(const numerics::Program& program,
                                       std::span<const Interval> operands);

} // namespace octet::packing

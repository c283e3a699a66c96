// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/remainder.h"

#include <cmath>

#include "core/threads.h"
#include "runtime/kernels/broadcast_runs.h"

namespace octet::kernels {
namespace {

/// Below it a quotient of two floats, rounded to double, is on its own side of each integer, since
/// it lies 2^-24 or more beside those that it is not; the product with its whole part is exact, and
/// so is what is left.
constexpr double kMostQuotient = 268435456.0; // 2^28

float remainder_of(float a, float b) {
  const double p = a, q = b;
  const double quotient = p / q;
  if (!(std::fabs(quotient) < kMostQuotient)) return static_cast<float>(std::fmod(p, q));
  const auto whole = static_cast<int64_t>(quotient);
  if (whole == 0) return a;
  return static_cast<float>(std::copysign(p - static_cast<double>(whole) * q, p));
}

} // namespace

void remainders(
    const BroadcastPlan& plan, const float* a, const float* b, float* y, ParallelFor& parallel) {
  map_pairs(plan, a, b, y, parallel, remainder_of);
}

} // namespace octet::kernels

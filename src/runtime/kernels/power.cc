// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/power.h"

#include <cmath>

#include "core/threads.h"

namespace octet::kernels {
namespace {

constexpr double kPowerNs = 20.0;

} // namespace

void power(const float* x, int64_t count, double exponent, float* y, ParallelFor& parallel) {
  parallel.run(count, grain_for(kPowerNs), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      y[i] = static_cast<float>(std::pow(static_cast<double>(x[i]), exponent));
  });
}

} // namespace octet::kernels

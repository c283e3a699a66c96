// SPDX-License-Identifier: Apache-2.0
// Sums, means, largest and smallest elements of floats over any axes, bit for bit those of
// src/ops/reduce_*.cc: the elements that fall together are taken in their order, one after the
// other, sums in double and rounded once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

/// Over nothing: 0, NaN, -infinity, +infinity. NaN wins over every number; of equal elements the
/// first one is taken, which tells 0 from -0.
enum class Reduce : uint8_t { kSum, kMean, kMax, kMin };

/// Axes of a dense tensor, with strides in elements; none is of size 1 but a lone one.
struct AxisList {
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

/// One output for each place along the axes that are kept, of what lies along those that go. Each
/// list has one axis or more.
struct ReducePlan {
  AxisList kept;
  AxisList gone;
};

/// Axes of size 1 are left out and neighbours joined. `reduced` says for each axis whether it goes.
ReducePlan plan_reduce(std::span<const int64_t> shape, const std::vector<bool>& reduced);

void reduce(Reduce op, const ReducePlan& plan, const float* x, float* y, ParallelFor& parallel);

} // namespace octet::kernels

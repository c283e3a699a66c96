// SPDX-License-Identifier: Apache-2.0
// Along the middle axis of [outer, size, inner]: running sums and products, the place of the best
// element, the k best.
#pragma once

#include <cstdint>
#include <vector>

#include "core/cpu.h"

#include "octet/dtype.h"

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

struct Lines {
  int64_t outer = 1;
  int64_t size = 0;
  int64_t inner = 1;
};
/// Of a tensor of `shape` along `axis`.
Lines lines_of(const std::vector<int64_t>& shape, int64_t axis);

enum class Running : uint8_t { kSum, kProduct };
struct RunningArgs {
  Lines lines;
  Running op = Running::kSum;
  bool exclusive = false; ///< the element itself is left out
  bool reverse = false;   ///< from the end
};
/// Floats run in double, one after the other, each result rounded once; integers wrap.
/// Instantiated for float, int32_t and int64_t.
template <typename T>
void running(const RunningArgs& args, const T* x, T* y, ParallelFor& parallel);

/// Which element ranks first. NaN ranks above every number where the largest is asked for, below
/// where top_best is asked for the smallest.
enum class Rank : uint8_t { kLargest, kSmallest };

struct ArgBestArgs {
  Lines lines; ///< size is 1 to 2^31 - 1
  Rank rank = Rank::kLargest;
  bool last = false; ///< of equal elements, else the first; NaN is the best in either rank
};
/// y: [outer, inner]. Instantiated for float, int32_t, int64_t, int8_t and uint8_t.
template <typename T>
void arg_best(const ArgBestArgs& args, const T* x, int64_t* y, ParallelFor& parallel);

struct TopArgs {
  Lines lines;
  int64_t k = 0; ///< at most size
  Rank rank = Rank::kLargest;
};
/// values, indices: [outer, k, inner] in order of rank, of equal elements the lower index first;
/// either may be null. Instantiated for float, int32_t and int64_t.
template <typename T>
void top_best(
    const TopArgs& args, const T* x, T* values, int64_t* indices, Isa isa, ParallelFor& parallel);

} // namespace octet::kernels

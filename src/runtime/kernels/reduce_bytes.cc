// SPDX-License-Identifier: Apache-2.0
// Largest and smallest codes: any order gives the same one, so lines are taken as wide as vectors are.
#include <limits>
#include <type_traits>

#include "core/for_isa.h"
#include "core/threads.h"
#include "runtime/kernels/reduce.h"
#include "runtime/kernels/reduce_lanes.h"

namespace octet::kernels {
namespace {

/// Columns of a line that stay in registers from its first row to the last.
constexpr int64_t kColumns = 256;

template <class T>
T better(Best best, T a, T b) {
  return best == Best::kLargest ? std::max(a, b) : std::min(a, b);
}

template <class T>
void take_lines(Best best, const T* x, int64_t stride, int64_t n, int64_t columns, T* y) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t c = 0; c < columns; ++c)
      y[c] = better(best, y[c], x[i * stride + c]);
}

template <class T>
T take_row(Best best, const T* x, int64_t n, T partial) {
  for (int64_t i = 0; i < n; ++i)
    partial = better(best, partial, x[i]);
  return partial;
}

template <class T>
ByteBests<T> bests_of(Isa isa) {
  const BestKernels all = for_isa<best_kernels_scalar, Isa::kAvx2, best_kernels_avx2, Isa::kAvx512,
                                  best_kernels_avx512>(isa)();
  if constexpr (std::is_signed_v<T>)
    return all.of_i8;
  else
    return all.of_u8;
}

} // namespace

BestKernels best_kernels_scalar() {
  return {.of_i8 = {take_lines<int8_t>, take_row<int8_t>},
          .of_u8 = {take_lines<uint8_t>, take_row<uint8_t>}};
}

template <class T>
void reduce_bytes(
    Best best, const ReducePlan& plan, const T* x, T* y, Isa isa, ParallelFor& parallel) {
  constexpr double kByteNs = 0.05;
  const T start =
      best == Best::kLargest ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
  const ByteBests<T> bests = bests_of<T>(isa);
  const int64_t line = plan.kept.sizes.back(), stride = plan.gone.strides.back();
  const int64_t lines = line == 0 ? 0 : count_of(plan.kept.sizes) / line;
  const auto members = static_cast<double>(count_of(plan.gone.sizes));
  if (plan.kept.strides.back() != 1) { // what goes lies side by side then
    parallel.run(lines * line, grain_for(kReduceBlockNs + kByteNs * members),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const T* from =
                         x + offset_of(plan.kept, i / line) + i % line * plan.kept.strides.back();
                     T partial = start;
                     each_run_of(plan, from, [&](const T* first, int64_t n) {
                       partial = bests.row(best, first, n, partial);
                     });
                     y[i] = partial;
                   }
                 });
    return;
  }
  const int64_t blocks = (line + kColumns - 1) / kColumns;
  const double ns =
      kReduceBlockNs + kByteNs * members * static_cast<double>(std::min(line, kColumns));
  parallel.run(lines * blocks, grain_for(ns), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t at = b % blocks * kColumns, columns = std::min(kColumns, line - at);
      T* to = y + b / blocks * line + at;
      std::fill_n(to, columns, start);
      each_run_of(plan, x + offset_of(plan.kept, b / blocks) + at, [&](const T* first, int64_t n) {
        bests.lines(best, first, stride, n, columns, to);
      });
    }
  });
}

template void reduce_bytes(Best, const ReducePlan&, const int8_t*, int8_t*, Isa, ParallelFor&);
template void reduce_bytes(Best, const ReducePlan&, const uint8_t*, uint8_t*, Isa, ParallelFor&);

} // namespace octet::kernels

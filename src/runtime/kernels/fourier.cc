// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/fourier.h"

#include <algorithm>

#include "core/for_isa.h"
#include "core/threads.h"
#include "runtime/kernels/buffer.h"

namespace octet::kernels {
namespace {

constexpr double kNumberNs = 1.5; // of a line, with its share of all passes

/// Scratch memory of a chunk stays within a core's cache, where lines are not longer than that.
constexpr int64_t kChunkBytes = int64_t{1} << 19;

namespace one_lane {
using Lane = double;
constexpr int64_t kLanes = 1;
#include "ops/shared/fourier_passes-inl.h"
} // namespace one_lane

namespace two_lanes {
using Lane = double __attribute__((vector_size(16), may_alias));
constexpr int64_t kLanes = 2;
#include "ops/shared/fourier_passes-inl.h"
} // namespace two_lanes

constexpr FourierForm kFourierPortable{two_lanes::transform_some<float>, 2};
constexpr FourierForm kFourierSingle{one_lane::transform_some<float>, 1};

int64_t bytes_of(const Fourier& plan, int64_t lanes) {
  return plan.work() * lanes * static_cast<int64_t>(sizeof(double));
}

} // namespace

void fourier(const Fourier& plan,
             const FourierLines<float>& lines,
             Isa isa,
             ParallelFor& parallel) {
  FourierForm form =
      for_isa<&kFourierPortable, Isa::kAvx2, &kFourierAvx2, Isa::kAvx512, &kFourierAvx512>(isa)[0];
  const int64_t all = lines.layout.lines();
  if (2 * all <= form.lanes || bytes_of(plan, form.lanes) > kChunkBytes) form = kFourierSingle;
  const int64_t blocks = (all + form.lanes - 1) / form.lanes;
  const double block_ns = kNumberNs * static_cast<double>(plan.passes.size() * form.lanes);
  parallel.run(blocks, grain_for(block_ns), [&](int64_t begin, int64_t end) {
    std::byte* scratch =
        chunk_scratch(Scratch::kRowsFloat, static_cast<size_t>(bytes_of(plan, form.lanes)));
    auto* work = static_cast<double*>(static_cast<void*>(scratch));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * form.lanes;
      form.some(plan, lines, first, std::min(form.lanes, all - first), work);
    }
  });
}

} // namespace octet::kernels

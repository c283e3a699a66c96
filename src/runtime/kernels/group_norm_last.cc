// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/group_norm_last.h"

#include <algorithm>

#include "core/for_isa.h"
#include "core/numerics/group_norm.h"
#include "runtime/kernels/cut.h"

namespace octet::kernels {
namespace {

constexpr double kElementNs = 0.4;
constexpr int64_t kLeastChannels = 64; ///< of a chunk: lines of the cache are read whole

void group_norm_last_scalar(
    const GroupNormLastArgs& a, int64_t image, int64_t begin, int64_t end, float* /*scratch*/) {
  const int64_t step = a.groups * a.channels;
  for (int64_t g = begin; g < end; ++g) {
    const int64_t at = image * a.pixels * step + g * a.channels;
    numerics::group_norm_last(a.x + at, a.pixels, step, a.channels, a.gain + g * a.channels,
                              a.bias + g * a.channels, a.epsilon, a.y + at);
  }
}

} // namespace

void group_norm_last(const GroupNormLastArgs& args, Isa isa, ParallelFor& parallel) {
  const auto run = for_isa<group_norm_last_scalar, Isa::kAvx2, group_norm_last_avx2, Isa::kAvx512,
                           group_norm_last_avx512>(isa);
  if (args.channels * args.pixels <= 0 || args.groups <= 0) return;
  const int64_t together = std::max<int64_t>(1, kLeastChannels / args.channels);
  const Blocks blocks(args.groups, together);
  const double ns = kElementNs * static_cast<double>(args.pixels * args.channels * together);
  parallel.run(args.images * blocks.count, grain_for(ns), [&](int64_t begin, int64_t end) {
    auto* scratch = reinterpret_cast<float*>(chunk_scratch(
        Scratch::kRowsFloat,
        static_cast<size_t>(group_norm_last_scratch(together * args.channels)) * sizeof(float)));
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const Range some = blocks[chunk % blocks.count];
      run(args, chunk / blocks.count, some.begin, some.end, scratch);
    }
  });
}

} // namespace octet::kernels

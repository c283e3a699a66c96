// SPDX-License-Identifier: Apache-2.0
// Group norm of images whose channels come last: numerics::group_norm_last of each group.
#pragma once

#include <cstdint>

#include "core/cpu.h"
#include "core/threads.h"
#include "runtime/kernels/buffer.h"

namespace octet::kernels {

struct GroupNormLastArgs {
  const float* x = nullptr; ///< [images, pixels, groups, channels]
  int64_t images = 0;
  int64_t pixels = 1;
  int64_t groups = 1;          ///< of an image
  int64_t channels = 1;        ///< of a group
  const float* gain = nullptr; ///< [groups * channels]
  const float* bias = nullptr;
  float epsilon = 1e-5F;
  float* y = nullptr; ///< may be x
};

void group_norm_last(const GroupNormLastArgs& args, Isa isa, ParallelFor& parallel);

/// Groups [begin, end) of one image. `scratch`: group_norm_last_scratch floats.
void group_norm_last_avx2(
    const GroupNormLastArgs& args, int64_t image, int64_t begin, int64_t end, float* scratch);
void group_norm_last_avx512(
    const GroupNormLastArgs& args, int64_t image, int64_t begin, int64_t end, float* scratch);

/// Of so many channels together, in whole vectors: four chains, the mean and the inverse of each.
constexpr int64_t group_norm_last_scratch(int64_t channels) {
  return 6 * round_up(channels, 16);
}

} // namespace octet::kernels

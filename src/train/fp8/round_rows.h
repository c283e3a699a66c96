// SPDX-License-Identifier: Apache-2.0
// The inner loops of a cast to FP8 whose result stays in f32: the numbers that the codes stand for.
#pragma once

#include <cstdint>

namespace octet::train {

/// Writes the numbers of the format that are nearest to x * scale, half to even; beyond the largest
/// finite one the largest (infinities too), NaN stays NaN. y may be x.
using RoundRow = void (*)(const float* x, float scale, float* y, int64_t count);
void round_row_e4m3fn(const float* x, float scale, float* y, int64_t count);
void round_row_e5m2(const float* x, float scale, float* y, int64_t count);

/// The largest magnitude; NaN where there is one, 0 of nothing.
float largest_magnitude(const float* x, int64_t count);

} // namespace octet::train

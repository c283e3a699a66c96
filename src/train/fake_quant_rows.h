// SPDX-License-Identifier: Apache-2.0
// The inner loops of fake quantization in f32: one pass over the elements forward, one for learned
// scales backward. The scalar form is the specification; the vector form takes the same steps lane
// by lane, so y, the clipped elements and the gradient of x have the same bits (sums of a scale's
// gradient run in another order).
//
// With r = x / s and c = rne(clamp(r, low, high)), NaN giving 0: y = c * s. An element is clipped
// where low - 0.5 < r < high + 0.5 does not hold; its gradient is 0. Bounds are below 2^22 in
// magnitude.
#pragma once

#include <cstdint>

namespace octet::train {

/// Elements one after the other. `scale`, `low` and `high` are one value each, or, with kEach, one
/// for every element of the row.
enum class RowScales { kOne, kEach };
struct FakeQuantRow {
  const float* x;
  const float *scale, *low, *high;
  RowScales scales;
  int64_t count; ///< at most 65536
};

struct FakeQuantLoops {
  /// Writes y, and behind `clipped` the places (base + index in the row) of clipped elements;
  /// returns the end of the list. A null `clipped` asks for none. y may be x.
  uint16_t* (*forward)(const FakeQuantRow& row, float* y, int64_t base, uint16_t* clipped);
  /// g: gradient of y, becomes that of x. Adds to ds (one value, or one for each element) the sum
  /// of gradient * slope: c - r inside, the bound that was hit outside (arXiv 1902.08153), 0 for
  /// NaN.
  void (*backward)(const FakeQuantRow& row, float* g, float* ds);
};

/// The best loops for this processor, or those that OCTET_ISA allows.
const FakeQuantLoops& fake_quant_loops();
extern const FakeQuantLoops kFakeQuantScalar;
extern const FakeQuantLoops kFakeQuantAvx2;

} // namespace octet::train

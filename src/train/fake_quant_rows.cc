// SPDX-License-Identifier: Apache-2.0
// Scalar loops of fake quantization, and the choice between them and the vector ones.
#include "train/fake_quant_rows.h"

#include "core/cpu.h"
#include "core/for_isa.h"

namespace octet::train {
namespace {

constexpr float kRounder = 12582912.0F; // 1.5 * 2^23: adding and taking it away rounds half to even

/// A result of -0 comes out as 0.
inline float code_of(float r, float low, float high) {
  float c = r < low ? low : r;
  c = c > high ? high : c;
  c = c == c ? c : 0.0F;
  return (c + kRounder) - kRounder;
}

uint16_t* forward(const FakeQuantRow& row, float* y, int64_t base, uint16_t* clipped) {
  const int64_t step = row.scales == RowScales::kEach ? 1 : 0;
  for (int64_t i = 0; i < row.count; ++i) {
    const int64_t k = i * step;
    const float low = row.low[k], high = row.high[k], r = row.x[i] / row.scale[k];
    if (clipped != nullptr && !(r > low - 0.5F && r < high + 0.5F))
      *clipped++ = static_cast<uint16_t>(base + i);
    y[i] = code_of(r, low, high) * row.scale[k];
  }
  return clipped;
}

void backward(const FakeQuantRow& row, float* g, float* ds) {
  const int64_t step = row.scales == RowScales::kEach ? 1 : 0;
  for (int64_t i = 0; i < row.count; ++i) {
    const int64_t k = i * step;
    const float low = row.low[k], high = row.high[k], r = row.x[i] / row.scale[k];
    const bool inside = r > low - 0.5F && r < high + 0.5F;
    const float bound = r <= low - 0.5F ? low : r >= high + 0.5F ? high : 0.0F;
    ds[k] += (inside ? code_of(r, low, high) - r : bound) * g[i];
    g[i] = inside ? g[i] : 0.0F;
  }
}

} // namespace

const FakeQuantLoops kFakeQuantScalar{forward, backward};

const FakeQuantLoops& fake_quant_loops() {
  static const FakeQuantLoops* const chosen = [] {
    const Result<Isa> isa = selected_isa();
    return for_isa<&kFakeQuantScalar, Isa::kAvx2, &kFakeQuantAvx2>(isa.ok() ? *isa : Isa::kScalar);
  }();
  return *chosen;
}

} // namespace octet::train

// SPDX-License-Identifier: Apache-2.0
// int8 matrix product: y[m, n] = epilogue(sum over k of (x[m, k] - z_x) * w[n, k]), sums exact in
// int32 on every instruction set. Specification: igemm_scalar.cc with core/numerics/epilogue.h.
//
// Overflow: the caller proves max over n of sum |w| * max |x - z_x| + |bias| < 2^31 when it plans.
// Inside, x is read as unsigned: int8 that may be negative is shifted, by 128 or by no more than its
// range asks for, and the shift joins z_x in `init` = bias - (z_x + shift) * sum of w. Partial sums then stay below k * 255 * 128 <
// 2^31 for k <= kMaxK, and int32 wraps consistently in any case.
#pragma once

#include <cstdint>
#include <limits>

#include "core/cpu.h"
#include "runtime/kernels/buffer.h"

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

constexpr int64_t kMaxK = 65536; ///< longest sum
constexpr int64_t kColumnsPerPanel = 16;

/// Values that x can hold: its type and the closed range that its producer keeps to. A value
/// outside the range gives a wrong sum; the range is a property of the plan (a clamp, a relu), not
/// of data.
struct XRange {
  bool is_signed = true;
  int32_t lo = -128;
  int32_t hi = 127;
};

class TileFunction;

enum class YType : uint8_t { kInt8, kUint8, kInt32, kFloat };

/// What becomes of a sum. Pointers are borrowed; arrays over n come padded from IgemmColumns.
struct Epilogue {
  YType type = YType::kInt8;
  int32_t zero_point = 0; ///< integer outputs: y = clamp(rne(r) + zero_point, lo, hi)
  int32_t lo = -128;
  int32_t hi = 127;
  float float_lo = -std::numeric_limits<float>::infinity(); ///< float output: clamp, NaN kept
  float float_hi = std::numeric_limits<float>::infinity();
  const void* residual =
      nullptr;                 ///< 8-bit tensor of y's shape added before rounding (8-bit outputs)
  int64_t residual_stride = 0; ///< elements between its rows
  bool residual_signed = true;
  int32_t residual_zero_point = 0;
  float residual_multiplier = 0.0F; ///< s_r / s_y
  const float* row_multiplier =
      nullptr; ///< [m], float output: m = row_multiplier[i] * multiplier[n]
  /// Of the float that a float output would have, clamped; no residual. Bytes are then its result,
  /// quantized: clamp(rne(f / scale) + zero_point, lo, hi). Products alone take it, of up to
  /// kTileNumbers sums in a tile.
  const TileFunction* function = nullptr;
  float scale = 1.0F;
};

/// Weights packed once for one instruction set.
struct PackedWeights {
  Isa isa = Isa::kScalar;
  XRange x;
  int32_t shift = 0; ///< x is read as x + shift, which is not negative
  int64_t n = 0;
  int64_t k = 0;
  int64_t k_padded = 0; ///< k rounded up to a multiple of 4: bytes of a packed row of x
  AlignedBuffer data;
  AlignedBuffer panels;  ///< PackedPanel for each 16 columns; empty for scalar
  AlignedBuffer offsets; ///< int32 offset into x of each group, in the order that it is stored
  AlignedBuffer sums;    ///< int32 sum of w[n, :], padded
};

/// Per-column constants of one layer, padded to whole panels.
struct IgemmColumns {
  AlignedBuffer storage;
  int32_t* init = nullptr;     ///< bias_i32 - (z_x + shift) * sum of w
  float* multiplier = nullptr; ///< m
  float* bias = nullptr;       ///< b'
  bool bounded = false;        ///< no sum times m plus b' leaves int32 before it is rounded
};

/// PackedWeights::shift. Where sums are proven to stay within int16 (igemm_pack.cc), the smaller the
/// largest x the better.
int32_t shift_of(XRange x, Isa isa);

/// Packs w[n, k] (row stride w_stride elements). n >= 0, 0 <= k <= kMaxK. `excess`, laid out as w,
/// is what int8 does not hold of the weights (null: nothing): the sum of both is multiplied. Each
/// four k with some of it are one group more.
PackedWeights pack_weights(const int8_t* w,
                           int64_t w_stride,
                           int64_t n,
                           int64_t k,
                           XRange x,
                           Isa isa,
                           const int8_t* excess = nullptr);

/// What columns are made from; null is zeros.
struct ColumnArgs {
  int32_t x_zero_point = 0;
  const int32_t* bias_i32 = nullptr; ///< [n]
  const float* multiplier = nullptr; ///< [multiplier_count]
  int64_t multiplier_count = 0;      ///< 1 (per tensor) or n
  const float* bias = nullptr;       ///< [n]
};
IgemmColumns make_columns(const PackedWeights& w, const ColumnArgs& args);

/// Recomputes `init` for a zero point known only when the plan runs.
void fill_init(const PackedWeights& w,
               int32_t x_zero_point,
               const int32_t* bias_i32,
               int32_t* init);

struct IgemmArgs {
  int64_t m = 0;
  const void* x = nullptr; ///< 8-bit [m, k]
  int64_t x_stride = 0;    ///< elements between rows
  const PackedWeights* w = nullptr;
  const IgemmColumns* columns = nullptr;
  Epilogue epilogue;
  void* y = nullptr;           ///< [m, n] of epilogue.type
  int64_t y_stride = 0;        ///< elements between rows
  std::byte* shared = nullptr; ///< shared_bytes() aligned to 64
};

/// Memory that the threads of one product share; `args` need no addresses of data.
size_t shared_bytes(const IgemmArgs& args);

/// The product. Bits do not depend on the instruction set, the number of threads or how m is split.
void igemm(const IgemmArgs& args, ParallelFor& parallel);

} // namespace octet::kernels

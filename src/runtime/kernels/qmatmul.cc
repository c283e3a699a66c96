// SPDX-License-Identifier: Apache-2.0
// Packs b into panels of wide groups (igemm_tile.h) and runs the tiles of the int8 product. Column
// sums of b, which stand against the zero point of a, come from the same tiles with a row of ones.
#include "runtime/kernels/qmatmul.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/threads.h"
#include "runtime/kernels/igemm_tile.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace octet::kernels {
namespace {

constexpr double kQmatmulProductsPerNs = 40.0;
constexpr double kPackNs = 0.3;
constexpr int64_t kBlockRows = 16;

int16_t code_at(const QmatmulArgs& args, const uint8_t* b, int64_t i) {
  const int32_t code = args.b_signed ? int32_t{static_cast<int8_t>(b[i])} : int32_t{b[i]};
  return static_cast<int16_t>(code - args.b_zero_point);
}

/// [k 0 and 2, k 1 and 3][16 columns][2 k] of the group whose first k is `first`.
void pack_some(
    const QmatmulArgs& args, const uint8_t* b, int64_t first, int64_t column, int16_t* out) {
  const int64_t columns = std::min(kColumnsPerPanel, args.n - column);
  std::fill_n(out, 4 * kColumnsPerPanel, int16_t{0});
  for (int64_t i = 0; i < 4 && first + i < args.k; ++i) {
    for (int64_t c = 0; c < columns; ++c) {
      out[((i % 2) * kColumnsPerPanel + c) * 2 + i / 2] =
          code_at(args, b, (first + i) * args.n + column + c);
    }
  }
}

#if defined(__x86_64__)
struct Row16 {
  __m128i low, high;
};

Row16 widened(const QmatmulArgs& args, const uint8_t* p) {
  const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m128i zero = _mm_setzero_si128();
  const __m128i sign = args.b_signed ? _mm_cmpgt_epi8(zero, v) : zero;
  const __m128i less = _mm_set1_epi16(static_cast<int16_t>(args.b_zero_point));
  return {_mm_sub_epi16(_mm_unpacklo_epi8(v, sign), less),
          _mm_sub_epi16(_mm_unpackhi_epi8(v, sign), less)};
}

/// A group of 4 k and 16 columns that are all there.
void pack_whole(
    const QmatmulArgs& args, const uint8_t* b, int64_t first, int64_t column, int16_t* out) {
  auto* to = reinterpret_cast<__m128i*>(out);
  for (int64_t pair = 0; pair < 2; ++pair, to += 4) {
    const uint8_t* p = b + (first + pair) * args.n + column;
    const Row16 u = widened(args, p);
    const Row16 v = widened(args, p + 2 * args.n);
    _mm_storeu_si128(to, _mm_unpacklo_epi16(u.low, v.low));
    _mm_storeu_si128(to + 1, _mm_unpackhi_epi16(u.low, v.low));
    _mm_storeu_si128(to + 2, _mm_unpacklo_epi16(u.high, v.high));
    _mm_storeu_si128(to + 3, _mm_unpackhi_epi16(u.high, v.high));
  }
}
#else
constexpr auto pack_whole = pack_some;
#endif

void dot_wide_scalar(const PackedPanel& panel,
                     const uint8_t* const* rows,
                     int64_t count,
                     int32_t* acc) {
  for (int64_t r = 0; r < count; ++r) {
    for (int64_t c = 0; c < kColumnsPerPanel; ++c) {
      int32_t sum = 0;
      const auto* w = reinterpret_cast<const int16_t*>(panel.data);
      for (int64_t g = 0; g < panel.wide; ++g, w += 64) {
        const uint8_t* x = rows[r] + panel.offsets[g];
        for (int64_t i = 0; i < 4; ++i) {
          sum += x[i] * w[((i % 2) * kColumnsPerPanel + c) * 2 + i / 2];
        }
      }
      acc[r * kColumnsPerPanel + c] = sum;
    }
  }
}

DotTileFn wide_kernel(Isa isa) {
  switch (isa) {
#if defined(__x86_64__)
  case Isa::kAvx2:
    return dot_tile_avx2;
  case Isa::kAvx512:
  case Isa::kAvx512Vnni:
    return dot_tile_avx512;
#endif
  default:
    return dot_wide_scalar;
  }
}

/// What all items of a batch share.
class Product {
 public:
  explicit Product(const QmatmulArgs& args)
      : args_(args), groups_((args.k + 3) / 4), row_bytes_(groups_ * 4),
        in_place_(!args.a_signed && args.k % 4 == 0), bounded_(std::fabs(args.multiplier) <= 0.25F),
        dot_(wide_kernel(args.isa)), epilogue_(tile_kernels(args.isa).epilogue) {
    std::fill_n(multiplier_.begin(), kColumnsPerPanel, args.multiplier);
  }

  int64_t row_bytes() const { return row_bytes_; }
  int64_t groups() const { return groups_; }

  /// One item: `offsets` are 0, 4, 8, ... of all groups, `ones` a row of ones.
  void run(int64_t item, const int32_t* offsets, const uint8_t* ones) const {
    const auto* a = static_cast<const uint8_t*>(args_.a) + args_.a_offsets[item];
    const auto* b = static_cast<const uint8_t*>(args_.b) + args_.b_offsets[item];
    int64_t stride = args_.k;
    if (!in_place_) {
      a = packed_rows(a);
      stride = row_bytes_;
    }
    auto* data = reinterpret_cast<int16_t*>(
        thread_scratch(Scratch::kTile, static_cast<size_t>(groups_) * 64 * sizeof(int16_t)));
    PackedPanel panel;
    panel.data = reinterpret_cast<const int8_t*>(data);
    panel.offsets = offsets;
    panel.wide = static_cast<int32_t>(groups_);
    for (int64_t column = 0; column < args_.n; column += kColumnsPerPanel) {
      const bool whole = args_.n - column >= kColumnsPerPanel;
      for (int64_t g = 0; g < groups_; ++g) {
        const auto pack = whole && 4 * g + 4 <= args_.k ? pack_whole : pack_some;
        pack(args_, b, 4 * g, column, data + g * 64);
      }
      panel.half = args_.n - column <= kColumnsPerPanel / 2;
      run_panel(panel, item, column, a, stride, ones);
    }
  }

 private:
  const uint8_t* packed_rows(const uint8_t* a) const {
    auto* rows = reinterpret_cast<uint8_t*>(
        thread_scratch(Scratch::kRows, static_cast<size_t>(args_.m * row_bytes_)));
    for (int64_t i = 0; i < args_.m; ++i) {
      std::memcpy(rows + i * row_bytes_, a + i * args_.k, static_cast<size_t>(args_.k));
    }
    if (args_.a_signed) flip_bytes(rows, args_.m * row_bytes_);
    return rows;
  }

  void run_panel(const PackedPanel& panel,
                 int64_t item,
                 int64_t column,
                 const uint8_t* a,
                 int64_t stride,
                 const uint8_t* ones) const {
    alignas(64) int32_t acc[kBlockRows * kColumnsPerPanel] = {};
    alignas(64) int32_t init[kColumnsPerPanel] = {};
    alignas(64) const float bias[kColumnsPerPanel] = {};
    dot_(panel, &ones, 1, init);
    const auto zero = static_cast<uint32_t>(args_.a_zero_point + (args_.a_signed ? 128 : 0));
    for (int32_t& v : init) {
      v = static_cast<int32_t>(0U - zero * static_cast<uint32_t>(v));
    }
    TileOut out;
    out.acc = acc;
    out.init = init;
    out.multiplier = multiplier_.data();
    out.bias = bias;
    out.bounded = bounded_;
    out.columns = std::min(kColumnsPerPanel, args_.n - column);
    const bool bytes = args_.epilogue.type == YType::kInt8 || args_.epilogue.type == YType::kUint8;
    out.y = static_cast<std::byte*>(args_.y) + column * (bytes ? 1 : 4);
    out.y_stride = args_.n;
    for (int64_t i = 0; i < args_.m; i += kBlockRows) {
      const uint8_t* rows[kBlockRows];
      out.rows = std::min(kBlockRows, args_.m - i);
      for (int64_t r = 0; r < out.rows; ++r) {
        rows[r] = a + (i + r) * stride;
      }
      out.row = item * args_.m + i;
      dot_(panel, rows, out.rows, acc);
      epilogue_(args_.epilogue, out);
    }
  }

  const QmatmulArgs& args_;
  int64_t groups_;
  int64_t row_bytes_;
  bool in_place_;
  bool bounded_;
  DotTileFn dot_;
  EpilogueTileFn epilogue_;
  std::array<float, kColumnsPerPanel> multiplier_;
};

} // namespace

void qmatmul(const QmatmulArgs& args, ParallelFor& parallel) {
  if (args.batch <= 0 || args.m <= 0 || args.n <= 0) return;
  const Product product(args);
  // Shared by all threads: offsets of the groups, then a row of ones.
  const auto bytes = static_cast<size_t>(product.groups()) * sizeof(int32_t);
  std::byte* shared =
      thread_scratch(Scratch::kShared, bytes + static_cast<size_t>(product.row_bytes()));
  auto* offsets = reinterpret_cast<int32_t*>(shared);
  auto* ones = reinterpret_cast<uint8_t*>(shared + bytes);
  for (int64_t g = 0; g < product.groups(); ++g) {
    offsets[g] = static_cast<int32_t>(4 * g);
  }
  std::memset(ones, 1, static_cast<size_t>(product.row_bytes()));
  const double ns = static_cast<double>(args.m * args.n * args.k) / kQmatmulProductsPerNs +
                    kPackNs * static_cast<double>(args.n * args.k);
  parallel.run(args.batch, grain_for(ns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      product.run(i, offsets, ones);
    }
  });
}

} // namespace octet::kernels

// SPDX-License-Identifier: Apache-2.0
// Packs b into panels (igemm_tile.h) and runs the tiles of the int8 product: of wide groups, less
// the zero point, or, where bytes are multiplied without saturation, of plain groups; then sums of
// the rows of a stand against the zero point of b. Column sums of b, which stand against the zero
// point of a, come from the same tiles with a row of ones.
#include "runtime/kernels/qmatmul.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/for_isa.h"
#include "core/threads.h"
#include "runtime/kernels/igemm_tile.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace octet::kernels {
namespace {

constexpr double kQmatmulProductsPerNs = 40.0;
constexpr double kPackNs = 0.3;
// Of wide groups; two panels of plain ones take as much.
constexpr int64_t kGroupBytes = 4 * kColumnsPerPanel * static_cast<int64_t>(sizeof(int16_t));
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

/// [16 columns][4 k] of the group whose first k is `first`, as int8; flipping is 0x80 where b is
/// unsigned.
void pack_bytes(const QmatmulArgs& args,
                const uint8_t* b,
                int64_t first,
                int64_t column,
                uint8_t flipping,
                uint8_t* out) {
  const uint8_t* p = b + first * args.n + column;
  if (first + 4 <= args.k && column + kColumnsPerPanel <= args.n) {
    const __m128i flip = _mm_set1_epi8(static_cast<char>(flipping));
    const auto row = [&](int64_t i) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i * args.n));
    };
    const __m128i r0 = row(0);
    const __m128i r1 = row(1);
    const __m128i r2 = row(2);
    const __m128i r3 = row(3);
    const __m128i low01 = _mm_unpacklo_epi8(r0, r1);
    const __m128i low23 = _mm_unpacklo_epi8(r2, r3);
    const __m128i high01 = _mm_unpackhi_epi8(r0, r1);
    const __m128i high23 = _mm_unpackhi_epi8(r2, r3);
    auto* to = reinterpret_cast<__m128i*>(out);
    _mm_storeu_si128(to, _mm_xor_si128(_mm_unpacklo_epi16(low01, low23), flip));
    _mm_storeu_si128(to + 1, _mm_xor_si128(_mm_unpackhi_epi16(low01, low23), flip));
    _mm_storeu_si128(to + 2, _mm_xor_si128(_mm_unpacklo_epi16(high01, high23), flip));
    _mm_storeu_si128(to + 3, _mm_xor_si128(_mm_unpackhi_epi16(high01, high23), flip));
    return;
  }
  std::fill_n(out, 4 * kColumnsPerPanel, uint8_t{0});
  const int64_t columns = std::min(kColumnsPerPanel, args.n - column);
  for (int64_t i = 0; i < 4 && first + i < args.k; ++i) {
    for (int64_t c = 0; c < columns; ++c) {
      out[4 * c + i] = p[i * args.n + c] ^ flipping;
    }
  }
}

uint32_t sum_of(const uint8_t* p, int64_t count) {
  __m128i sums = _mm_setzero_si128();
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i));
    sums = _mm_add_epi64(sums, _mm_sad_epu8(bytes, _mm_setzero_si128()));
  }
  auto sum = static_cast<uint32_t>(_mm_cvtsi128_si32(sums) +
                                   _mm_cvtsi128_si32(_mm_unpackhi_epi64(sums, sums)));
  for (; i < count; ++i) {
    sum += p[i];
  }
  return sum;
}
#else
constexpr auto pack_whole = pack_some;

uint32_t sum_of(const uint8_t* p, int64_t count) {
  return std::accumulate(p, p + count, 0U);
}
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

/// `dot` is of one panel of wide groups, `dot_panels`, where there is one, of plain ones.
TileKernels kernels_of(Isa isa) {
  TileKernels kernels = tile_kernels(isa);
  kernels.dot = for_isa<dot_wide_scalar, dot_tile_avx2, dot_tile_avx512>(isa);
  return kernels;
}

/// Of 4 k each.
int64_t groups_of(const QmatmulArgs& args) {
  return (args.k + 3) / 4;
}

/// What all items of a batch share.
class Product {
 public:
  explicit Product(const QmatmulArgs& args)
      : args_(args), groups_(groups_of(args)), row_bytes_(groups_ * 4),
        in_place_(!args.a_signed && args.k % 4 == 0), bounded_(std::fabs(args.multiplier) <= 0.25F),
        kernels_(kernels_of(args.isa)), together_(plain() ? kPanelsTogether : 1),
        a_zero_(args.a_zero_point + (args.a_signed ? 128 : 0)),
        b_zero_(args.b_zero_point - (args.b_signed ? 0 : 128)) {
    std::fill_n(multiplier_.begin(), kColumnsPerPanel, args.multiplier);
  }

  /// One item: `offsets` are 0, 4, 8, ... of all groups, `ones` a row of ones.
  void run(int64_t item, const int32_t* offsets, const uint8_t* ones) const {
    Pass pass;
    pass.ones = ones;
    pass.item = item;
    pass.a = static_cast<const uint8_t*>(args_.a) + args_.a_offsets[item];
    const auto* b = static_cast<const uint8_t*>(args_.b) + args_.b_offsets[item];
    if (!in_place_) {
      pass.a = packed_rows(pass.a);
      pass.stride = row_bytes_;
    } else {
      pass.stride = args_.k;
    }
    const int64_t terms = plain() && b_zero_ != 0 ? args_.m : 0;
    std::byte* data =
        chunk_scratch(Scratch::kTile, static_cast<size_t>(groups_ * kGroupBytes + terms * 4));
    if (terms > 0) {
      auto* to = reinterpret_cast<int32_t*>(data + groups_ * kGroupBytes);
      fill_terms(pass, to);
      pass.terms = to;
    }
    for (int64_t q = 0; q < together_; ++q) {
      pass.panels[q].data = reinterpret_cast<const int8_t*>(data) + q * groups_ * 64;
      pass.panels[q].offsets = offsets;
      (plain() ? pass.panels[q].plain : pass.panels[q].wide) = static_cast<int32_t>(groups_);
    }
    for (pass.column = 0; pass.column < args_.n; pass.column += together_ * kColumnsPerPanel) {
      const int64_t rest = (args_.n - pass.column + kColumnsPerPanel - 1) / kColumnsPerPanel;
      pass.count = std::min(together_, rest);
      for (int64_t q = 0; q < pass.count; ++q) {
        const int64_t column = pass.column + q * kColumnsPerPanel;
        pack_panel(b, column, data + q * groups_ * 64);
        pass.panels[q].half = args_.n - column <= kColumnsPerPanel / 2;
      }
      run_panels(pass);
    }
  }

 private:
  /// The panels of b that are multiplied together, and what they are multiplied with.
  struct Pass {
    PackedPanel panels[kPanelsTogether];
    int64_t count = 1;
    int64_t column = 0;
    int64_t item = 0;
    const uint8_t* a = nullptr;
    int64_t stride = 0;
    const uint8_t* ones = nullptr;
    const int32_t* terms = nullptr; ///< of each row of a, added to its sums; or null
  };

  bool plain() const { return kernels_.dot_panels != nullptr; }

  const uint8_t* packed_rows(const uint8_t* a) const {
    auto* rows = reinterpret_cast<uint8_t*>(
        chunk_scratch(Scratch::kRows, static_cast<size_t>(args_.m * row_bytes_)));
    for (int64_t i = 0; i < args_.m; ++i) {
      std::memcpy(rows + i * row_bytes_, a + i * args_.k, static_cast<size_t>(args_.k));
    }
    if (args_.a_signed) flip_bytes(rows, args_.m * row_bytes_);
    return rows;
  }

  void pack_panel(const uint8_t* b, int64_t column, std::byte* data) const {
#if defined(__x86_64__)
    if (plain()) {
      const uint8_t flipping = args_.b_signed ? 0 : 0x80;
      for (int64_t g = 0; g < groups_; ++g) {
        pack_bytes(args_, b, 4 * g, column, flipping, reinterpret_cast<uint8_t*>(data) + g * 64);
      }
      return;
    }
#endif
    auto* wide = reinterpret_cast<int16_t*>(data);
    const bool whole = args_.n - column >= kColumnsPerPanel;
    for (int64_t g = 0; g < groups_; ++g) {
      const auto pack = whole && 4 * g + 4 <= args_.k ? pack_whole : pack_some;
      pack(args_, b, 4 * g, column, wide + g * 64);
    }
  }

  /// Zero point of b times (zero point of a for each k, less the sum of the row).
  void fill_terms(const Pass& pass, int32_t* terms) const {
    const auto all = static_cast<uint32_t>(a_zero_) * static_cast<uint32_t>(args_.k);
    for (int64_t i = 0; i < args_.m; ++i) {
      const uint32_t sum = sum_of(pass.a + i * pass.stride, args_.k);
      terms[i] = static_cast<int32_t>(static_cast<uint32_t>(b_zero_) * (all - sum));
    }
  }

  /// Sums of panels are `step` apart.
  void dot(const Pass& pass,
           const uint8_t* const* rows,
           int64_t count,
           int32_t* acc,
           int64_t step) const {
    if (plain()) {
      kernels_.dot_panels(pass.panels, pass.count, rows, count, acc, step);
    } else {
      kernels_.dot(pass.panels[0], rows, count, acc);
    }
  }

  void run_panels(const Pass& pass) const {
    alignas(64) int32_t acc[kPanelsTogether * kSums] = {};
    alignas(64) int32_t init[kPanelsTogether * kColumnsPerPanel] = {};
    alignas(64) const float bias[kColumnsPerPanel] = {};
    dot(pass, &pass.ones, 1, init, kColumnsPerPanel);
    for (int32_t& v : init) {
      v = static_cast<int32_t>(0U - static_cast<uint32_t>(a_zero_) * static_cast<uint32_t>(v));
    }
    TileOut out;
    out.multiplier = multiplier_.data();
    out.bias = bias;
    out.bounded = bounded_;
    const bool bytes = args_.epilogue.type == YType::kInt8 || args_.epilogue.type == YType::kUint8;
    out.y_stride = args_.n;
    for (int64_t i = 0; i < args_.m; i += kBlockRows) {
      const uint8_t* rows[kBlockRows];
      out.rows = std::min(kBlockRows, args_.m - i);
      for (int64_t r = 0; r < out.rows; ++r) {
        rows[r] = pass.a + (i + r) * pass.stride;
      }
      out.row = pass.item * args_.m + i;
      dot(pass, rows, out.rows, acc, kSums);
      for (int64_t q = 0; q < pass.count; ++q) {
        const int64_t column = pass.column + q * kColumnsPerPanel;
        out.acc = acc + q * kSums;
        out.init = init + q * kColumnsPerPanel;
        out.columns = std::min(kColumnsPerPanel, args_.n - column);
        out.y = static_cast<std::byte*>(args_.y) + column * (bytes ? 1 : 4);
        if (pass.terms != nullptr) add_terms(pass.terms + i, out.rows, acc + q * kSums);
        kernels_.epilogue(args_.epilogue, out);
      }
    }
  }

  static void add_terms(const int32_t* terms, int64_t rows, int32_t* acc) {
    for (int64_t r = 0; r < rows; ++r) {
      const auto term = static_cast<uint32_t>(terms[r]);
      for (int64_t c = 0; c < kColumnsPerPanel; ++c, ++acc) {
        *acc = static_cast<int32_t>(static_cast<uint32_t>(*acc) + term);
      }
    }
  }

  static constexpr int64_t kSums = kBlockRows * kColumnsPerPanel;

  const QmatmulArgs& args_;
  int64_t groups_;
  int64_t row_bytes_;
  bool in_place_;
  bool bounded_;
  TileKernels kernels_;
  int64_t together_;
  int32_t a_zero_; ///< as unsigned bytes
  int32_t b_zero_; ///< as signed bytes
  std::array<float, kColumnsPerPanel> multiplier_;
};

} // namespace

// Offsets of the groups, then a row of ones.
size_t shared_bytes(const QmatmulArgs& args) {
  return static_cast<size_t>(groups_of(args)) * (sizeof(int32_t) + 4);
}

void qmatmul(const QmatmulArgs& args, ParallelFor& parallel) {
  if (args.batch <= 0 || args.m <= 0 || args.n <= 0) return;
  const Product product(args);
  const int64_t groups = groups_of(args);
  auto* offsets = reinterpret_cast<int32_t*>(args.shared);
  auto* ones = reinterpret_cast<uint8_t*>(offsets + groups);
  for (int64_t g = 0; g < groups; ++g) {
    offsets[g] = static_cast<int32_t>(4 * g);
  }
  std::memset(ones, 1, static_cast<size_t>(groups * 4));
  const double ns = static_cast<double>(args.m * args.n * args.k) / kQmatmulProductsPerNs +
                    kPackNs * static_cast<double>(args.n * args.k);
  parallel.run(args.batch, grain_for(ns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      product.run(i, offsets, ones);
    }
  });
}

} // namespace octet::kernels

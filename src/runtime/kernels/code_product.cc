// SPDX-License-Identifier: Apache-2.0
// Packing of both operands and the loop over tiles.
#include "runtime/kernels/code_product.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/for_isa.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace octet::kernels {
namespace {

constexpr int64_t kBlockRows = 16;
constexpr int64_t kSums = kBlockRows * kColumnsPerPanel;
constexpr int64_t kGroup = 4;
constexpr int64_t kGroupBytes = kGroup * kColumnsPerPanel;

/// Four k and 16 columns of b from (k, column) on, of which `depth` and `columns` are there.
struct Corner {
  const uint8_t* p = nullptr;
  int64_t k_stride = 0;
  int64_t n_stride = 1;
  int64_t depth = 0;
  int64_t columns = 0;
};

/// [16 columns][4 k]: codes exclusive-or `flipping`, and `filling` where there are none.
void pack_some(const Corner& from, uint8_t flipping, uint8_t filling, uint8_t* out) {
  std::fill_n(out, kGroupBytes, filling);
  for (int64_t i = 0; i < std::min(from.depth, kGroup); ++i) {
    for (int64_t c = 0; c < std::min(from.columns, kColumnsPerPanel); ++c) {
      out[kGroup * c + i] = from.p[i * from.k_stride + c * from.n_stride] ^ flipping;
    }
  }
}

#if defined(__x86_64__)
__m128i load16(const uint8_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

void store16(uint8_t* p, __m128i v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
}

/// The same of a whole group whose columns lie beside each other.
void pack_across(const Corner& from, uint8_t flipping, uint8_t* out) {
  const __m128i flip = _mm_set1_epi8(static_cast<char>(flipping));
  const __m128i r0 = load16(from.p);
  const __m128i r1 = load16(from.p + from.k_stride);
  const __m128i r2 = load16(from.p + 2 * from.k_stride);
  const __m128i r3 = load16(from.p + 3 * from.k_stride);
  const __m128i low01 = _mm_unpacklo_epi8(r0, r1);
  const __m128i low23 = _mm_unpacklo_epi8(r2, r3);
  const __m128i high01 = _mm_unpackhi_epi8(r0, r1);
  const __m128i high23 = _mm_unpackhi_epi8(r2, r3);
  store16(out, _mm_xor_si128(_mm_unpacklo_epi16(low01, low23), flip));
  store16(out + 16, _mm_xor_si128(_mm_unpackhi_epi16(low01, low23), flip));
  store16(out + 32, _mm_xor_si128(_mm_unpacklo_epi16(high01, high23), flip));
  store16(out + 48, _mm_xor_si128(_mm_unpackhi_epi16(high01, high23), flip));
}

/// Four whole groups whose k lie beside each other, `step` bytes apart in `out`.
void pack_along(const Corner& from, uint8_t flipping, int64_t step, uint8_t* out) {
  const __m128i flip = _mm_set1_epi8(static_cast<char>(flipping));
  for (int64_t c = 0; c < kColumnsPerPanel; c += 4, out += 16) {
    const uint8_t* p = from.p + c * from.n_stride;
    const __m128i r0 = load16(p);
    const __m128i r1 = load16(p + from.n_stride);
    const __m128i r2 = load16(p + 2 * from.n_stride);
    const __m128i r3 = load16(p + 3 * from.n_stride);
    const __m128i low01 = _mm_unpacklo_epi32(r0, r1);
    const __m128i low23 = _mm_unpacklo_epi32(r2, r3);
    const __m128i high01 = _mm_unpackhi_epi32(r0, r1);
    const __m128i high23 = _mm_unpackhi_epi32(r2, r3);
    store16(out, _mm_xor_si128(_mm_unpacklo_epi64(low01, low23), flip));
    store16(out + step, _mm_xor_si128(_mm_unpackhi_epi64(low01, low23), flip));
    store16(out + 2 * step, _mm_xor_si128(_mm_unpacklo_epi64(high01, high23), flip));
    store16(out + 3 * step, _mm_xor_si128(_mm_unpackhi_epi64(high01, high23), flip));
  }
}

/// From [16 columns][4 k] to a wide group, [k 0 and 2, k 1 and 3][16 columns][2 k].
void widen(const uint8_t* bytes, bool is_signed, int32_t zero, int16_t* out) {
  const __m128i less = _mm_set1_epi16(static_cast<int16_t>(zero));
  auto* to = reinterpret_cast<uint8_t*>(out);
  for (int64_t i = 0; i < kGroupBytes; i += 16) {
    const __m128i v = load16(bytes + i);
    const __m128i up = _mm_slli_epi16(v, 8);
    const __m128i even = is_signed ? _mm_srai_epi16(up, 8) : _mm_srli_epi16(up, 8);
    const __m128i odd = is_signed ? _mm_srai_epi16(v, 8) : _mm_srli_epi16(v, 8);
    store16(to + i, _mm_sub_epi16(even, less));
    store16(to + i + kGroupBytes, _mm_sub_epi16(odd, less));
  }
}

uint32_t sum_of(const uint8_t* p, int64_t count) {
  __m128i sums = _mm_setzero_si128();
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    sums = _mm_add_epi64(sums, _mm_sad_epu8(load16(p + i), _mm_setzero_si128()));
  }
  auto sum = static_cast<uint32_t>(_mm_cvtsi128_si32(sums) +
                                   _mm_cvtsi128_si32(_mm_unpackhi_epi64(sums, sums)));
  for (; i < count; ++i) {
    sum += p[i];
  }
  return sum;
}
#else
void widen(const uint8_t* bytes, bool is_signed, int32_t zero, int16_t* out) {
  for (int64_t c = 0; c < kColumnsPerPanel; ++c) {
    for (int64_t i = 0; i < kGroup; ++i) {
      const uint8_t byte = bytes[kGroup * c + i];
      const int32_t code = is_signed ? int32_t{static_cast<int8_t>(byte)} : int32_t{byte};
      out[((i % 2) * kColumnsPerPanel + c) * 2 + i / 2] = static_cast<int16_t>(code - zero);
    }
  }
}

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
      const auto* w = reinterpret_cast<const int16_t*>(panel.groups.data);
      for (int64_t g = 0; g < panel.groups.wide; ++g, w += kGroupBytes) {
        const uint8_t* x = rows[r] + panel.groups.offsets[g];
        for (int64_t i = 0; i < kGroup; ++i) {
          sum += x[i] * w[((i % 2) * kColumnsPerPanel + c) * 2 + i / 2];
        }
      }
      acc[r * kColumnsPerPanel + c] = sum;
    }
  }
}

/// Of plain groups where they are exact, else `dot` is of wide ones.
TileKernels kernels_of(Isa isa) {
  TileKernels kernels = tile_kernels(isa);
  if (!multiplies_in_int32(isa))
    kernels.dot =
        for_isa<dot_wide_scalar, Isa::kAvx2, dot_tile_avx2, Isa::kAvx512, dot_tile_avx512>(isa);
  return kernels;
}

int64_t groups_of(int64_t k) {
  return (k + kGroup - 1) / kGroup;
}

void add_terms(const int32_t* terms, int64_t rows, int32_t* acc) {
  for (int64_t r = 0; r < rows; ++r) {
    const auto term = static_cast<uint32_t>(terms[r]);
    for (int64_t c = 0; c < kColumnsPerPanel; ++c, ++acc) {
      *acc = static_cast<int32_t>(static_cast<uint32_t>(*acc) + term);
    }
  }
}

} // namespace

CodeProduct::CodeProduct(const CodeProductForm& form, int64_t n, int64_t k, Isa isa)
    : form_(form), n_(n), k_(k), groups_(groups_of(k)), kernels_(kernels_of(isa)),
      plain_(multiplies_in_int32(isa)),
      together_(kernels_.dot_panels != nullptr ? kPanelsTogether : 1),
      a_zero_(form.a_zero_point + (form.a_signed ? 128 : 0)),
      b_zero_(form.b_zero_point - (form.b_signed ? 0 : 128)),
      bounded_(is_bounded(form.multiplier, 0.0F, k)) {
  multiplier_.fill(form.multiplier);
}

size_t CodeProduct::shared_bytes(int64_t k) {
  return static_cast<size_t>(groups_of(k)) * (sizeof(int32_t) + kGroup);
}

void CodeProduct::fill_shared(int64_t k, std::byte* shared) {
  const int64_t groups = groups_of(k);
  auto* offsets = reinterpret_cast<int32_t*>(shared);
  for (int64_t g = 0; g < groups; ++g) {
    offsets[g] = static_cast<int32_t>(kGroup * g);
  }
  std::memset(offsets + groups, 1, static_cast<size_t>(groups * kGroup));
}

int64_t CodeProduct::panel_bytes() const {
  return groups_ * (plain() ? kGroupBytes : kGroupBytes * int64_t{sizeof(int16_t)});
}

int64_t CodeProduct::terms_bytes(int64_t rows) const {
  return plain() && b_zero_ != 0 ? rows * int64_t{sizeof(int32_t)} : 0;
}

void CodeProduct::pack_rows(const uint8_t* a, int64_t stride, int64_t count, uint8_t* out) const {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(out + i * row_bytes(), a + i * stride, static_cast<size_t>(k_));
  }
  if (form_.a_signed) kernels_.shift_copy(out, count * row_bytes(), 128, out);
}

/// Zero point of b times (zero point of a for each k, less the sum of the row).
void CodeProduct::fill_terms(const LeftRows& rows, int32_t* terms) const {
  const auto all = static_cast<uint32_t>(a_zero_) * static_cast<uint32_t>(k_);
  for (int64_t i = 0; i < rows.count; ++i) {
    const uint32_t sum = sum_of(rows.first + i * rows.stride, k_);
    terms[i] = static_cast<int32_t>(static_cast<uint32_t>(b_zero_) * (all - sum));
  }
}

void CodeProduct::pack_panel(const RightCodes& b, int64_t column, std::byte* out) const {
  const uint8_t flipping = plain() && !form_.b_signed ? 0x80 : 0;
  const auto filling = plain() ? uint8_t{0} : static_cast<uint8_t>(form_.b_zero_point);
  alignas(16) uint8_t some[kGroup * kGroupBytes];
  for (int64_t g = 0; g < groups_;) {
    const Corner corner{b.b + kGroup * g * b.k_stride + column * b.n_stride, b.k_stride, b.n_stride,
                        k_ - kGroup * g, n_ - column};
    auto* bytes = plain() ? reinterpret_cast<uint8_t*>(out) + g * kGroupBytes : some;
    int64_t count = 1;
#if defined(__x86_64__)
    const bool whole = corner.columns >= kColumnsPerPanel && corner.depth >= kGroup;
    if (whole && b.n_stride == 1) {
      pack_across(corner, flipping, bytes);
    } else if (whole && b.k_stride == 1 && corner.depth >= 4 * kGroup) {
      pack_along(corner, flipping, kGroupBytes, bytes);
      count = 4;
    } else {
      pack_some(corner, flipping, filling, bytes);
    }
#else
    pack_some(corner, flipping, filling, bytes);
#endif
    for (int64_t i = 0; i < count && !plain(); ++i) {
      widen(some + i * kGroupBytes, form_.b_signed, form_.b_zero_point,
            reinterpret_cast<int16_t*>(out) + (g + i) * kGroupBytes);
    }
    g += count;
  }
}

void CodeProduct::set_panels(PackedPanel* panels,
                             Range which,
                             const std::byte* shared,
                             const std::byte* packed) const {
  for (int64_t p = which.begin; p < which.end; ++p, ++panels) {
    *panels = {};
    panels->groups.data =
        reinterpret_cast<const int8_t*>(packed) + (p - which.begin) * panel_bytes();
    panels->groups.offsets = reinterpret_cast<const int32_t*>(shared);
    (plain() ? panels->groups.plain : panels->groups.wide) = static_cast<int32_t>(groups_);
    panels->half = n_ - p * kColumnsPerPanel <= kColumnsPerPanel / 2;
  }
}

void CodeProduct::pack_panels(const RightCodes& b,
                              Range panels,
                              const std::byte* shared,
                              std::byte* out,
                              int32_t* init) const {
  const auto* ones = reinterpret_cast<const uint8_t*>(shared) + groups_ * int64_t{sizeof(int32_t)};
  for (int64_t p = panels.begin; p < panels.end; ++p) {
    pack_panel(b, p * kColumnsPerPanel, out);
    PackedPanel panel;
    set_panels(&panel, {p, p + 1}, shared, out);
    std::fill_n(init, kColumnsPerPanel, 0);
    dot(&panel, 1, &ones, 1, init, kColumnsPerPanel);
    for (int64_t c = 0; c < kColumnsPerPanel; ++c) {
      init[c] = static_cast<int32_t>(0U - static_cast<uint32_t>(a_zero_) *
                                              static_cast<uint32_t>(init[c]));
    }
    out += panel_bytes();
    init += kColumnsPerPanel;
  }
}

/// Sums of panels are `step` apart.
void CodeProduct::dot(const PackedPanel* panels,
                      int64_t count,
                      const uint8_t* const* rows,
                      int64_t row_count,
                      int32_t* acc,
                      int64_t step) const {
  if (kernels_.dot_panels != nullptr) {
    kernels_.dot_panels(panels, count, rows, row_count, acc, step);
  } else {
    kernels_.dot(panels[0], rows, row_count, acc);
  }
}

void CodeProduct::run(const LeftRows& rows,
                      Range panels,
                      const std::byte* shared,
                      const std::byte* packed,
                      const int32_t* init,
                      const CodeProductOut& out) const {
  alignas(64) int32_t acc[kPanelsTogether * kSums] = {};
  alignas(64) const float bias[kColumnsPerPanel] = {};
  const YType type = out.epilogue->type;
  const int64_t width = type == YType::kInt8 || type == YType::kUint8 ? 1 : 4;
  TileOut tile;
  tile.multiplier = multiplier_.data();
  tile.bias = bias;
  tile.bounded = bounded_;
  tile.y_stride = out.y_stride;
  for (int64_t p = panels.begin; p < panels.end; p += together_) {
    const int64_t count = std::min(together_, panels.end - p);
    PackedPanel some[kPanelsTogether];
    set_panels(some, {p, p + count}, shared, packed + (p - panels.begin) * panel_bytes());
    for (int64_t i = 0; i < rows.count; i += kBlockRows) {
      const uint8_t* starts[kBlockRows];
      tile.rows = std::min(kBlockRows, rows.count - i);
      for (int64_t r = 0; r < tile.rows; ++r) {
        starts[r] = rows.first + (i + r) * rows.stride;
      }
      tile.row = i;
      dot(some, count, starts, tile.rows, acc, kSums);
      for (int64_t q = 0; q < count; ++q) {
        const int64_t column = (p - panels.begin + q) * kColumnsPerPanel;
        tile.acc = acc + q * kSums;
        tile.init = init + column;
        tile.columns = std::min(kColumnsPerPanel, n_ - (p + q) * kColumnsPerPanel);
        tile.y = static_cast<std::byte*>(out.y) + column * width;
        if (rows.terms != nullptr) add_terms(rows.terms + i, tile.rows, acc + q * kSums);
        kernels_.epilogue(*out.epilogue, tile);
      }
    }
  }
}

} // namespace octet::kernels

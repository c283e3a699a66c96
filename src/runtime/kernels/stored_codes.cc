// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/stored_codes.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/codec.h"
#include "core/for_isa.h"
#include "runtime/kernels/sgemm_tile.h"
#include "runtime/kernels/turn.h"

namespace octet::kernels {
namespace {

/// What is added to codes of few bits, so that none is negative: less this.
int lowest_code(DType type) {
  switch (type) {
  case DType::kInt4:
    return -8;
  case DType::kInt2:
    return -2;
  default:
    return 0;
  }
}

/// Codes that one byte of a panel's row holds.
int64_t codes_in_byte(DType type) {
  return 8 / bits(type);
}

/// `count` codes from `first` on, one a byte; those of few bits from the lowest one on.
void unpack(const uint8_t* from, DType type, int64_t first, int64_t count, uint8_t* to) {
  const int width = bits(type);
  const auto flip = static_cast<uint8_t>(-lowest_code(type));
  const int64_t each = codes_in_byte(type);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = first + i;
    const int code = from[at / each] >> (at % each * width) & ((1 << width) - 1);
    to[i] = static_cast<uint8_t>(code ^ flip);
  }
}

/// One row of k, one code a byte, into the panel's bytes, which are 0 so far.
void put_row(const uint8_t* row, DType type, int64_t k, int64_t width, uint8_t* panel) {
  const int64_t half = width / 2;
  if (codes_in_byte(type) == 1) {
    std::copy_n(row, width, panel + k * width);
    return;
  }
  const bool quarters = codes_in_byte(type) == 4;
  uint8_t* to = panel + (quarters ? k / 2 : k) * half;
  const int low = quarters ? static_cast<int>(k % 2) * 4 : 0;
  const int high = low + bits(type);
  for (int64_t j = 0; j < half; ++j)
    to[j] = static_cast<uint8_t>(to[j] | row[j] << low | row[j + half] << high);
}

uint8_t code_of_column(const uint8_t* panel, DType type, int64_t k, int64_t width, int64_t column) {
  const int64_t half = width / 2;
  if (codes_in_byte(type) == 1) return panel[k * width + column];
  const bool quarters = codes_in_byte(type) == 4;
  const int shift =
      (quarters ? static_cast<int>(k % 2) * 4 : 0) + (column >= half ? bits(type) : 0);
  const uint8_t byte = panel[(quarters ? k / 2 : k) * half + column % half];
  return static_cast<uint8_t>(byte >> shift & ((1 << bits(type)) - 1));
}

using Numbers = std::array<float, 256>;

/// What each stored code is.
const Numbers& numbers_of(DType type) {
  static const auto make = [](const FloatFormat& format) {
    Numbers out;
    for (uint32_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(decode(format, i));
    return out;
  };
  static const Numbers e4m3fn = make(kE4M3FN), e4m3fnuz = make(kE4M3FNUZ), e5m2 = make(kE5M2),
                       e5m2fnuz = make(kE5M2FNUZ);
  static const auto from = [](int lowest) {
    Numbers out;
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(static_cast<int>(i) + lowest);
    return out;
  };
  static const auto as_int8 = [] {
    Numbers out;
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(static_cast<int8_t>(i));
    return out;
  };
  static const Numbers naturals = from(0), i8 = as_int8(), i4 = from(-8), i2 = from(-2);
  switch (type) {
  case DType::kFloat8E4M3FN:
    return e4m3fn;
  case DType::kFloat8E4M3FNUZ:
    return e4m3fnuz;
  case DType::kFloat8E5M2:
    return e5m2;
  case DType::kFloat8E5M2FNUZ:
    return e5m2fnuz;
  case DType::kInt8:
    return i8;
  case DType::kInt4:
    return i4;
  case DType::kInt2:
    return i2;
  default:
    return naturals;
  }
}

/// Whether a code of E4M3 is no number.
bool holds_nan(std::span<const std::byte> codes, DType type) {
  const auto any = [&](uint8_t mask, uint8_t nan) {
    return std::any_of(codes.begin(), codes.end(), [&](std::byte code) {
      return (std::to_integer<uint8_t>(code) & mask) == nan;
    });
  };
  if (type == DType::kFloat8E4M3FN) return any(0x7f, 0x7f);
  return type == DType::kFloat8E4M3FNUZ && any(0xff, 0x80);
}

} // namespace

int64_t PackedCodes::panel_bytes() const {
  switch (codes_in_byte(type)) {
  case 1:
    return k * width;
  case 2:
    return k * width / 2;
  default:
    return (k + 1) / 2 * width / 2;
  }
}

PackedCodes
pack_codes(std::span<const std::byte> codes, DType type, int64_t n, int64_t k, Isa isa) {
  PackedCodes packed;
  packed.isa = isa;
  packed.type = type;
  packed.n = n;
  packed.k = k;
  packed.width = float_tile_kernels(isa, n).width;
  packed.has_nan = holds_nan(codes, type);
  const int64_t width = packed.width, panels = round_up(n, width) / width;
  packed.data = AlignedBuffer(static_cast<size_t>(panels * packed.panel_bytes()));
  const auto* from = reinterpret_cast<const uint8_t*>(codes.data());
  std::vector<uint8_t> rows(static_cast<size_t>(width * k)), turned(rows.size());
  for (int64_t p = 0; p < panels; ++p) {
    const int64_t columns = std::min(width, n - p * width);
    unpack(from, type, p * width * k, columns * k, rows.data());
    std::fill(rows.begin() + columns * k, rows.end(), uint8_t{0});
    turn({width, k, k, width}, 1, reinterpret_cast<const std::byte*>(rows.data()),
         reinterpret_cast<std::byte*>(turned.data()));
    uint8_t* panel = packed.data.as<uint8_t>() + p * packed.panel_bytes();
    for (int64_t i = 0; i < k; ++i)
      put_row(turned.data() + i * width, type, i, width, panel);
  }
  return packed;
}

void decode_scalar(const DecodeArgs& a) {
  const Numbers& numbers = numbers_of(a.type);
  for (int64_t k = a.begin; k < a.end; ++k) {
    const int64_t scales = k / a.block * a.width;
    float* out = a.out + (k - a.begin) * a.width;
    for (int64_t c = 0; c < a.width; ++c) {
      const float q = numbers[code_of_column(a.codes, a.type, k, a.width, c)];
      const float zero = a.zeros == nullptr ? 0.0F : a.zeros[scales + c];
      out[c] = (q - zero) * a.scales[scales + c];
    }
  }
}

Isa isa_of_panels(Isa isa, int64_t width) {
  constexpr int64_t kWidthOfAvx512 = 32;
  return width < kWidthOfAvx512 && isa.has(Isa::kAvx2) ? Isa::kAvx2 : isa;
}

DecodeFn* decode_of(Isa isa, int64_t width) {
  return for_isa<decode_scalar, Isa::kAvx2, decode_avx2, Isa::kAvx512, decode_avx512>(
      isa_of_panels(isa, width));
}

} // namespace octet::kernels

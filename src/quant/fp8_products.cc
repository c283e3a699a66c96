// SPDX-License-Identifier: Apache-2.0
// Products in FP8: every E4M3FN number is a multiple of 2^-9, so sums of products are integers.
#include "octet/fp8_products.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/codec.h"
#include "core/format.h"
#include "core/numerics/round.h"

namespace octet {
namespace {

constexpr float kLargestNumber = 448;
constexpr float kLargestRowFactor = 448.0F * 512.0F;
constexpr float kLeastMagnitude = 1e-12F;
/// 2^27 products of two codes of up to 448 * 2^9 stay below 2^63.
constexpr int64_t kMostProductColumns = int64_t{1} << 27;

int64_t block_count(int64_t extent, int64_t block) {
  return (extent + block - 1) / block;
}

Status check_matrix(const Tensor& x, std::optional<float> bound) {
  if (x.type() != DType::kFloat32 || x.rank() != 2)
    return error("FP8 products are of f32 matrices, not of {}{}", name(x.type()),
                 to_string(x.shape()));
  if (bound && !(*bound > 0 && std::isfinite(*bound)))
    return error("the bound of magnitudes is {}; it is a positive number", *bound);
  for (const float v : x.data<float>())
    if (!std::isfinite(v)) return error("a value is {}, which has no factor", v);
  return ok_status();
}

/// `factor` is that of a block's largest magnitude.
template <class Factor>
Result<Fp8Matrix> quantize_blocks(const Tensor& given,
                                  int64_t block_rows,
                                  int64_t block_columns,
                                  std::optional<float> bound,
                                  const Factor& factor) {
  const Tensor x = given.aligned();
  const int64_t rows = x.dim(0), columns = x.dim(1);
  const int64_t down = block_count(rows, block_rows), across = block_count(columns, block_columns);
  Fp8Matrix out{
      {}, OCTET_TRY(Tensor::zeros(DType::kFloat32, {down, across})), block_rows, block_columns};
  Tensor codes = OCTET_TRY(Tensor::zeros(DType::kUint8, x.shape()));
  const std::span<const float> from = x.data<float>();
  const std::span<uint8_t> to = codes.mutable_data<uint8_t>();
  const std::span<float> scales = out.scales.mutable_data<float>();
  const auto for_block = [&](int64_t block, const auto& fn) {
    const int64_t r0 = block / across * block_rows, c0 = block % across * block_columns;
    for (int64_t r = r0; r < std::min(rows, r0 + block_rows); ++r)
      for (int64_t c = c0; c < std::min(columns, c0 + block_columns); ++c)
        fn(static_cast<size_t>(r * columns + c));
  };
  for (int64_t block = 0; block < down * across; ++block) {
    float magnitude = 0;
    for_block(block, [&](size_t i) { magnitude = std::max(magnitude, std::fabs(from[i])); });
    const float f = factor(bound ? std::min(magnitude, *bound) : magnitude);
    scales[static_cast<size_t>(block)] = 1 / f;
    for_block(block, [&](size_t i) {
      to[i] = static_cast<uint8_t>(encode(kE4M3FN, from[i] * f, Saturate::kYes));
    });
  }
  out.codes = OCTET_TRY(codes.bitcast(DType::kFloat8E4M3FN));
  return out;
}

float block_factor(float magnitude) {
  return kLargestNumber / std::max(magnitude, kLeastMagnitude);
}

/// The codes as whole numbers of 2^-9, row by row, and which rows hold a NaN.
struct WholeCodes {
  std::vector<int32_t> numbers;
  std::vector<bool> has_nan;

  WholeCodes(const Tensor& codes, int64_t columns) : has_nan(static_cast<size_t>(codes.dim(0))) {
    std::array<int32_t, 256> table{};
    for (uint32_t code = 0; code < 256; ++code) {
      const double x = decode(kE4M3FN, code);
      table[code] = std::isnan(x) ? 0 : static_cast<int32_t>(x * 512);
    }
    const std::span<const std::byte> bytes = codes.bytes();
    numbers.reserve(bytes.size());
    for (size_t i = 0; i < bytes.size(); ++i) {
      const auto code = std::to_integer<uint32_t>(bytes[i]);
      numbers.push_back(table[code]);
      if ((code & 0x7fU) == 0x7fU) has_nan[i / static_cast<size_t>(columns)] = true;
    }
  }
};

Status check_operand(const Fp8Matrix& m, const char* which) {
  if (m.codes.type() != DType::kFloat8E4M3FN || m.codes.rank() != 2)
    return error("{}: codes are f8e4m3fn[rows, K], not {}{}", which, name(m.codes.type()),
                 to_string(m.codes.shape()));
  if (m.block_rows < 1 || m.block_columns < 1)
    return error("{}: blocks are {} x {}; they have a row and a column at least", which,
                 m.block_rows, m.block_columns);
  const Shape wanted = {block_count(m.codes.dim(0), m.block_rows),
                        block_count(m.codes.dim(1), m.block_columns)};
  if (m.scales.type() != DType::kFloat32 || m.scales.shape() != wanted)
    return error("{}: scales are f32{}, not {}{}", which, to_string(wanted), name(m.scales.type()),
                 to_string(m.scales.shape()));
  return ok_status();
}

Status check_operands(const Fp8Matrix& x, const Fp8Matrix& w, const Tensor* bias) {
  OCTET_TRY(check_operand(x, "x"));
  OCTET_TRY(check_operand(w, "w"));
  const int64_t columns = x.codes.dim(1), n = w.codes.dim(0);
  if (w.codes.dim(1) != columns)
    return error("x has {} columns and w {}; both have K", columns, w.codes.dim(1));
  if (columns > kMostProductColumns)
    return error("{} columns; sums are exact up to {}", columns, kMostProductColumns);
  // One block across is the same whatever its size says.
  if (x.block_columns != w.block_columns && std::min(x.block_columns, w.block_columns) < columns)
    return error("blocks of x have {} columns and those of w {}; they are the same for both",
                 x.block_columns, w.block_columns);
  if (bias != nullptr && (bias->type() != DType::kFloat32 || bias->shape() != Shape{n}))
    return error("the bias is f32[{}], not {}{}", n, name(bias->type()), to_string(bias->shape()));
  return ok_status();
}

} // namespace

Result<Fp8Matrix> quantize_fp8_rows(const Tensor& x, std::optional<float> bound) {
  OCTET_TRY(check_matrix(x, bound));
  return quantize_blocks(x, 1, std::max<int64_t>(1, x.dim(1)), bound, [](float magnitude) {
    return std::min(kLargestNumber / magnitude, kLargestRowFactor);
  });
}

Result<Fp8Matrix> quantize_fp8_blocks(const Tensor& x,
                                      int64_t block_rows,
                                      int64_t block_columns,
                                      std::optional<float> bound) {
  OCTET_TRY(check_matrix(x, bound));
  if (block_rows < 1 || block_columns < 1)
    return error("blocks are {} x {}; they have a row and a column at least", block_rows,
                 block_columns);
  return quantize_blocks(x, block_rows, block_columns, bound, block_factor);
}

Result<Fp8Matrix> quantize_fp8_tensor(const Tensor& x, std::optional<float> bound) {
  OCTET_TRY(check_matrix(x, bound));
  return quantize_blocks(x, std::max<int64_t>(1, x.dim(0)), std::max<int64_t>(1, x.dim(1)), bound,
                         block_factor);
}

Result<Tensor> fp8_product(const Fp8Matrix& x, const Fp8Matrix& w, const Tensor* bias) {
  OCTET_TRY(check_operands(x, w, bias));
  const int64_t m = x.codes.dim(0), n = w.codes.dim(0), columns = x.codes.dim(1);
  const int64_t block = std::min(x.block_columns, w.block_columns),
                across = block_count(columns, block);
  const WholeCodes a(x.codes, columns), b(w.codes, columns);
  const Tensor x_scales = x.scales.aligned(), w_scales = w.scales.aligned();
  const std::span<const float> sx = x_scales.data<float>(), sw = w_scales.data<float>();
  std::vector<double> out;
  out.reserve(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const int32_t* row = a.numbers.data() + i * columns;
      const int32_t* column = b.numbers.data() + j * columns;
      float y = 0;
      for (int64_t k = 0; k < across; ++k) {
        int64_t sum = 0;
        for (int64_t c = k * block; c < std::min(columns, (k + 1) * block); ++c)
          sum += int64_t{row[c]} * column[c];
        const float scaled = std::ldexp(static_cast<float>(sum), -18) *
                             sx[static_cast<size_t>(i / x.block_rows * across + k)];
        y += scaled * sw[static_cast<size_t>(j / w.block_rows * across + k)];
      }
      if (bias != nullptr) y += static_cast<float>(bias->at(j));
      const bool nan = a.has_nan[static_cast<size_t>(i)] || b.has_nan[static_cast<size_t>(j)];
      out.push_back(nan ? std::nan("") : numerics::round_to_bf16(y));
    }
  return Tensor::from_doubles(DType::kBfloat16, {m, n}, out);
}

} // namespace octet

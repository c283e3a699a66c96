// SPDX-License-Identifier: Apache-2.0
// Products of stored codes on every instruction set: what their codes mean, and the chain of
// std::fma over them, are written here. Bit-exact.
#include <bit>
#include <cmath>
#include <limits>

#include "core/convert.h"
#include "core/threads.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/coded_gemm.h"

namespace octet::kernels {
namespace {

using octet::test::covered_isas;
using octet::test::Guarded;

struct StoredType {
  DType type;
  int bits;
  bool is_signed;
  int mantissa = 0, bias = 0; ///< of FP8
  int first_special = 0x80;   ///< magnitudes from here on are infinity and NaN
};

constexpr StoredType kStoredTypes[] = {
    {DType::kInt8, 8, true},
    {DType::kUint8, 8, false},
    {DType::kInt4, 4, true},
    {DType::kUint4, 4, false},
    {DType::kInt2, 2, true},
    {DType::kUint2, 2, false},
    {DType::kFloat8E4M3FN, 8, true, 3, 7, 0x7f},
    {DType::kFloat8E4M3FNUZ, 8, true, 3, 8},
    {DType::kFloat8E5M2, 8, true, 2, 15, 0x7c},
    {DType::kFloat8E5M2FNUZ, 8, true, 2, 16},
};

/// By the formats' definitions: ONNX's text, and the OCP's and AMD's of FP8.
float meaning(const StoredType& t, uint32_t code) {
  if (t.mantissa == 0) {
    const int half = 1 << (t.bits - 1);
    const auto value = static_cast<int>(code);
    return static_cast<float>(t.is_signed && value >= half ? value - 2 * half : value);
  }
  const bool negative = (code & 0x80) != 0;
  const int magnitude = static_cast<int>(code & 0x7f);
  if (t.first_special == 0x80 && code == 0x80) return std::numeric_limits<float>::quiet_NaN();
  if (magnitude >= t.first_special) {
    if (t.type == DType::kFloat8E5M2 && magnitude == t.first_special)
      return negative ? -std::numeric_limits<float>::infinity()
                      : std::numeric_limits<float>::infinity();
    return std::numeric_limits<float>::quiet_NaN();
  }
  const int one = 1 << t.mantissa, exponent = magnitude / one, fraction = magnitude % one;
  const double value = exponent == 0 ? std::ldexp(fraction, 1 - t.bias - t.mantissa)
                                     : std::ldexp(one + fraction, exponent - t.bias - t.mantissa);
  return static_cast<float>(negative ? -value : value);
}

struct CodedProblem {
  int64_t m, n, k, block;
  bool zeros = true;
  bool bias = true;
  float lo = -std::numeric_limits<float>::infinity();
  float hi = std::numeric_limits<float>::infinity();
  int64_t extra_stride = 0;
  float spread = 0.01F; ///< of the scales
};

void expect_bits(const Guarded<float>& got, const std::vector<float>& want) {
  ASSERT_TRUE(got.guards_intact());
  for (int64_t i = 0; i < got.size(); ++i) {
    const float w = want[static_cast<size_t>(i)];
    if (std::isnan(w) && std::isnan(got[i])) continue;
    ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(w))
        << "at " << i << ": " << got[i] << " instead of " << w;
  }
}

/// `any_code`: infinities and NaN too.
void check(const StoredType& type,
           const CodedProblem& p,
           std::mt19937& random,
           ParallelFor& parallel,
           bool any_code = false) {
  SCOPED_TRACE(std::string(name(type.type)) + " m=" + std::to_string(p.m) +
               " n=" + std::to_string(p.n) + " k=" + std::to_string(p.k) +
               " block=" + std::to_string(p.block));
  std::normal_distribution<float> normal;
  const int64_t blocks = (p.k + p.block - 1) / p.block;
  std::vector<std::byte> codes(static_cast<size_t>((p.n * p.k * type.bits + 7) / 8));
  std::vector<float> scales(static_cast<size_t>(p.n * blocks)), zeros(scales.size());
  for (float& s : scales)
    s = p.spread * normal(random);
  const auto draw = [&] {
    uint32_t code = 0;
    do
      code = static_cast<uint32_t>(random()) & ((1U << type.bits) - 1);
    while (!any_code && !std::isfinite(meaning(type, code)));
    return code;
  };
  for (float& z : zeros)
    z = p.zeros ? meaning(type, draw()) : 0.0F;
  std::vector<float> w(static_cast<size_t>(p.n * p.k));
  for (int64_t j = 0; j < p.n; ++j)
    for (int64_t q = 0; q < p.k; ++q) {
      const uint32_t code = draw();
      put_code(type.type, codes.data(), j * p.k + q, static_cast<uint8_t>(code));
      const auto at = static_cast<size_t>(j * blocks + q / p.block);
      const auto less = static_cast<float>(static_cast<double>(meaning(type, code)) -
                                           static_cast<double>(zeros[at]));
      w[static_cast<size_t>(j * p.k + q)] = less * scales[at];
    }
  const int64_t stride = p.k + p.extra_stride;
  const int64_t x_count = p.m == 0 ? 0 : (p.m - 1) * stride + p.k;
  Guarded<float> x(x_count), bias(p.n);
  for (int64_t i = 0; i < x_count; ++i)
    x[i] = normal(random);
  for (int64_t i = 0; i < p.n; ++i)
    bias[i] = normal(random);
  std::vector<float> want;
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      float sum = 0.0F;
      for (int64_t q = 0; q < p.k; ++q)
        sum = std::fma(x[i * stride + q], w[static_cast<size_t>(j * p.k + q)], sum);
      if (p.bias) sum += bias[j];
      if (sum < p.lo) sum = p.lo;
      if (sum > p.hi) sum = p.hi;
      want.push_back(sum);
    }
  for (const Isa isa : covered_isas("coded gemm")) {
    SCOPED_TRACE(isa_name(isa));
    const PackedCodes packed = pack_codes(codes, type.type, p.n, p.k, isa);
    const PackedFloat packed_scales = pack_float({scales.data(), 1, blocks, p.n, blocks}, isa);
    const PackedFloat packed_zeros = pack_float({zeros.data(), 1, blocks, p.n, blocks}, isa);
    Guarded<float> y(p.m * p.n, 1);
    CodedGemmArgs args;
    args.m = p.m;
    args.x = x.data();
    args.x_stride = stride;
    args.w = &packed;
    args.block = p.block;
    args.scales = &packed_scales;
    args.zeros = p.zeros ? &packed_zeros : nullptr;
    args.epilogue = {p.bias ? bias.data() : nullptr, p.lo, p.hi};
    args.y = y.data();
    args.y_stride = p.n;
    coded_gemm(args, parallel);
    expect_bits(y, want);
  }
}

TEST(CodedGemm, EveryTypeAtSizesAroundTheTile) {
  std::mt19937 random(1);
  SerialFor serial;
  for (const StoredType& type : kStoredTypes)
    for (const int64_t m : {0, 1, 2, 3, 7, 13})
      for (const int64_t n : {1, 8, 9, 31, 32, 33, 67})
        for (const int64_t k : {1, 2, 33, 64}) {
          check(type, {.m = m, .n = n, .k = k, .block = k}, random, serial);
          check(type, {.m = m, .n = n, .k = k, .block = 5, .zeros = false, .extra_stride = 3},
                random, serial);
        }
}

TEST(CodedGemm, BlocksOfScalesAndOfDecodedRows) {
  std::mt19937 random(2);
  ThreadPool pool(3);
  for (const StoredType& type : kStoredTypes)
    for (const int64_t m : {1, 2, 3, 4, 5})
      for (const int64_t block : {1, 7, 32, 128, 1000}) {
        check(type, {.m = m, .n = 70, .k = 301, .block = block}, random, pool);
        check(type, {.m = m, .n = 257, .k = 65, .block = block, .zeros = false, .bias = false},
              random, pool);
      }
}

TEST(CodedGemm, ManyRowsOnThreads) {
  std::mt19937 random(3);
  ThreadPool pool(3);
  for (const StoredType& type : kStoredTypes)
    check(type, {.m = 131, .n = 200, .k = 300, .block = 32, .lo = 0.0F, .hi = 6.0F}, random, pool);
}

TEST(CodedGemm, EveryCodeEvenThoseThatAreNoNumbers) {
  std::mt19937 random(4);
  SerialFor serial;
  for (const StoredType& type : kStoredTypes)
    for (const int64_t n : {5, 64})
      check(type, {.m = 1, .n = n, .k = 1, .block = 1, .zeros = false}, random, serial, true);
}

TEST(CodedGemm, ScalesNearTheEndsOfFloat) {
  std::mt19937 random(5);
  SerialFor serial;
  for (const StoredType& type : kStoredTypes)
    for (const float spread : {1e37F, 3e38F, 1e-38F, 1e-42F})
      for (const int64_t m : {1, 6})
        check(type, {.m = m, .n = 40, .k = 9, .block = 4, .spread = spread}, random, serial);
}

/// One row of all codes, on each instruction set.
TEST(CodedGemm, DecodesEachCodeToWhatItMeans) {
  constexpr int64_t kColumns = 32;
  for (const StoredType& type : kStoredTypes)
    for (const Isa isa : covered_isas("decode")) {
      for (const bool any_code : {true, false}) {
        SCOPED_TRACE(std::string(name(type.type)) + " " + std::string(isa_name(isa)));
        const int64_t count = int64_t{1} << type.bits;
        std::vector<std::byte> codes(static_cast<size_t>(kColumns * count));
        const auto code_of = [&](int64_t q, int64_t column) {
          const auto code = static_cast<uint32_t>((q + column) % count);
          return any_code || std::isfinite(meaning(type, code)) ? code : 0;
        };
        for (int64_t j = 0; j < kColumns; ++j)
          for (int64_t q = 0; q < count; ++q)
            put_code(type.type, codes.data(), j * count + q, static_cast<uint8_t>(code_of(q, j)));
        const PackedCodes packed = pack_codes(codes, type.type, kColumns, count, isa);
        std::vector<float> scales(static_cast<size_t>(packed.width), 1.0F);
        Guarded<float> out(count * packed.width);
        for (int64_t panel = 0; panel < kColumns / packed.width; ++panel) {
          decode_of(isa, packed.width)(
              {.type = type.type,
               .has_nan = packed.has_nan,
               .codes = packed.data.as<uint8_t>() + panel * packed.panel_bytes(),
               .width = packed.width,
               .block = count,
               .scales = scales.data(),
               .begin = 0,
               .end = count,
               .out = out.data()});
          ASSERT_TRUE(out.guards_intact());
          for (int64_t q = 0; q < count; ++q)
            for (int64_t c = 0; c < packed.width; ++c) {
              const uint32_t code = code_of(q, panel * packed.width + c);
              const float want = meaning(type, code);
              const float got = out[q * packed.width + c];
              if (std::isnan(want) && std::isnan(got)) continue;
              ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(want))
                  << "code " << code << ": " << got;
            }
        }
      }
    }
}

} // namespace
} // namespace octet::kernels

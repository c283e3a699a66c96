// SPDX-License-Identifier: Apache-2.0
// Encoding and decoding of FP8 activations on every instruction set against core/codec.h, which other
// tests hold against ml_dtypes: a sweep of floats, the neighbours of each code, and special values.
#include <bit>
#include <cmath>
#include <limits>

#include "core/threads.h"
#include "kernels/float_sweep.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/fp8.h"

namespace octet::kernels {
namespace {

using octet::test::covered_isas;
using octet::test::Guarded;

constexpr DType kFp8Types[] = {DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2,
                               DType::kFloat8E5M2FNUZ};

void check_encoding(const std::vector<float>& x, float scale, ParallelFor& parallel) {
  const auto count = static_cast<int64_t>(x.size());
  for (const DType type : kFp8Types)
    for (const Saturate saturate : {Saturate::kNo, Saturate::kYes}) {
      std::vector<uint8_t> want(x.size());
      for (size_t i = 0; i < x.size(); ++i)
        want[i] = static_cast<uint8_t>(
            encode(*float_format(type), static_cast<double>(x[i] / scale), saturate));
      for (const Isa isa : covered_isas("encode fp8")) {
        Guarded<uint8_t> y(count, 1);
        encode_fp8({.type = type,
                    .saturate = saturate,
                    .x = x.data(),
                    .count = count,
                    .scale = scale,
                    .y = y.data()},
                   isa, parallel);
        ASSERT_TRUE(y.guards_intact());
        for (int64_t i = 0; i < count; ++i)
          ASSERT_EQ(y[i], want[static_cast<size_t>(i)])
              << name(type) << " " << isa_name(isa) << " of " << x[static_cast<size_t>(i)] << " / "
              << scale;
      }
    }
}

TEST(EncodeFp8, RoundsAsTheCodecDoes) {
  SerialFor serial;
  test::sweep(61, [&](const std::vector<float>& batch) { check_encoding(batch, 1.0F, serial); });
  // Each number, the middle between it and the next, and what lies beside them.
  std::vector<float> x;
  const auto around = [&](double value) {
    const auto v = static_cast<float>(value);
    for (const float near : {v, std::nextafter(v, 1e30F), std::nextafter(v, -1e30F)}) {
      x.push_back(near);
      x.push_back(-near);
    }
  };
  for (const DType type : kFp8Types)
    for (uint32_t code = 0; code < 0x7f; ++code) {
      const double low = decode(*float_format(type), code);
      const double high = decode(*float_format(type), code + 1);
      if (!std::isfinite(low)) continue;
      around(low);
      if (std::isfinite(high)) around((low + high) / 2);
    }
  for (const double large : {448.0, 464.0, 240.0, 248.0, 57344.0, 61440.0, 65536.0, 3e38})
    around(large);
  check_encoding(x, 1.0F, serial);
}

TEST(EncodeFp8, SpecialValuesLengthsAndScales) {
  ThreadPool pool(3);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float special[] = {0.0F,   -0.0F,   kInf,  -kInf, NAN,   -NAN,
                           1e-45F, -1e-45F, 1e38F, 0.1F,  -0.1F, std::numeric_limits<float>::min()};
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0F, 100.0F);
  for (const int64_t count : {0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 100, 70000})
    for (const float scale : {0.37F, -2.0F, 1e-40F, 3e38F, 0.0F}) {
      std::vector<float> x(static_cast<size_t>(count));
      for (float& v : x)
        v = random() % 4 == 0 ? special[random() % std::size(special)] : normal(random);
      check_encoding(x, scale, pool);
    }
}

TEST(DecodeFp8, EachCodeByEachScale) {
  ThreadPool pool(3);
  std::vector<uint8_t> x(1003);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<uint8_t>(i);
  for (const DType type : kFp8Types)
    for (const float scale : {1.0F, 0.37F, -3e-40F, 1e38F, std::numeric_limits<float>::infinity()})
      for (const int64_t count : {0, 1, 7, 16, 17, 255, 1003})
        for (const Isa isa : covered_isas("decode fp8")) {
          Guarded<float> y(count, 1);
          decode_fp8({.type = type, .x = x.data(), .count = count, .scale = scale, .y = y.data()},
                     isa, pool);
          ASSERT_TRUE(y.guards_intact());
          for (int64_t i = 0; i < count; ++i) {
            const float want =
                static_cast<float>(decode(*float_format(type), x[static_cast<size_t>(i)])) * scale;
            if (std::isnan(want) && std::isnan(y[i])) continue;
            ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(want))
                << name(type) << " " << isa_name(isa) << " code " << int{x[static_cast<size_t>(i)]};
          }
        }
}

} // namespace
} // namespace octet::kernels

// SPDX-License-Identifier: Apache-2.0
// The functions that programs are made of: the worst error of those that core/numerics/math.h
// and trig.h state one for, against the C library's double functions, and every instruction set against the
// scalar specification, bit for bit. Over one float in 4093 and the neighbourhoods of every power of
// two; with OCTET_LONG set, errors over all 2^32 floats and bits over one in 127.
#include <bit>
#include <cmath>

#include "core/codec.h"
#include "core/for_isa.h"
#include "core/numerics/round.h"
#include "core/threads.h"
#include "kernels/float_sweep.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/map.h"
#include "runtime/kernels/power.h"

namespace octet::kernels {
namespace {

using numerics::MapOp;
using octet::test::covered_isas;
using octet::test::Guarded;
using octet::test::odd_float;
using octet::test::same_bits;
using octet::test::sweep;

// As stated in core/numerics/math.h.
constexpr double kExpUlp = 1.02;
constexpr double kErfUlp = 1.1;
constexpr double kTanhUlp = 1.34;
constexpr double kSigmoidUlp = 2.41;
constexpr double kGeluAbsolute = 1.0e-7;
constexpr double kLogUlp = 0.94;
constexpr double kExpm1Ulp = 1.47;
constexpr double kSoftplusUlp = 1.75;
constexpr double kTurnUlp = 0.501;
constexpr double kMishUlp = 4.7;

void run_on(Isa isa, const MapCall& call) {
  for_isa<map_scalar, Isa::kAvx2, map_avx2, Isa::kAvx512, map_avx512>(isa)(call);
}

// Of the fastest instruction set; another test shows that all give the same bits.
template <typename Exact>
octet::test::Worst worst_error(MapOp op, Exact exact, double least = 0.0) {
  const auto run = [&](const float* x, int64_t count, float* y) {
    run_on(default_isa(), {.op = op, .a = {x, false}, .b = {}, .c = {}, .count = count, .y = y});
  };
  return octet::test::worst_error(run, exact, least);
}

TEST(MapFunctions, ExpError) {
  EXPECT_LE(worst_error(MapOp::kExp, [](double x) { return std::exp(x); }).ulp, kExpUlp);
}

TEST(MapFunctions, ErfError) {
  EXPECT_LE(worst_error(MapOp::kErf, [](double x) { return std::erf(x); }).ulp, kErfUlp);
}

TEST(MapFunctions, TanhError) {
  EXPECT_LE(worst_error(MapOp::kTanh, [](double x) { return std::tanh(x); }).ulp, kTanhUlp);
}

TEST(MapFunctions, SigmoidError) {
  const auto exact = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
  EXPECT_LE(worst_error(MapOp::kSigmoid, exact).ulp, kSigmoidUlp);
}

// GELU cancels on the left, so its bound is absolute there. At -infinity it is NaN, as its formula
// is.
TEST(MapFunctions, GeluError) {
  const auto exact = [](double x) {
    return std::isinf(x) && x < 0 ? std::nan("") : 0.5 * x * std::erfc(-x * M_SQRT1_2);
  };
  EXPECT_LE(worst_error(MapOp::kGelu, exact).absolute, kGeluAbsolute);
}

TEST(MapFunctions, LogError) {
  EXPECT_LE(worst_error(MapOp::kLog, [](double x) { return std::log(x); }).ulp, kLogUlp);
}

TEST(MapFunctions, SinAndCosError) {
  EXPECT_LE(worst_error(MapOp::kSin, [](double x) { return std::sin(x); }).ulp, kTurnUlp);
  EXPECT_LE(worst_error(MapOp::kCos, [](double x) { return std::cos(x); }).ulp, kTurnUlp);
}

TEST(MapFunctions, Expm1Error) {
  EXPECT_LE(worst_error(MapOp::kExpm1, [](double x) { return std::expm1(x); }).ulp, kExpm1Ulp);
}

double softplus(double x) {
  return std::isnan(x) ? x : std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}

TEST(MapFunctions, SoftplusError) {
  EXPECT_LE(worst_error(MapOp::kSoftplus, softplus, 0x1p-119).ulp, kSoftplusUlp);
}

TEST(MapFunctions, MishError) {
  const auto exact = [](double x) { return x * std::tanh(softplus(x)); };
  EXPECT_LE(worst_error(MapOp::kMish, exact, 0x1p-112).ulp, kMishUlp);
}

TEST(MapFunctions, OfOneOperandOnEveryInstructionSet) {
  for (int index = 0; index < static_cast<int>(MapOp::kCount); ++index) {
    const auto op = static_cast<MapOp>(index);
    if (numerics::operand_count(op) != 1) continue;
    for (const Isa isa : covered_isas("map")) {
      std::vector<float> got;
      sweep(127, [&](const std::vector<float>& batch) {
        got.resize(batch.size());
        run_on(isa, {.op = op,
                     .a = {batch.data(), false},
                     .b = {},
                     .c = {},
                     .count = static_cast<int64_t>(batch.size()),
                     .y = got.data()});
        for (size_t i = 0; i < batch.size(); ++i) {
          const float want = numerics::apply(op, batch[i], 0, 0);
          ASSERT_TRUE(same_bits(want, got[i]))
              << numerics::op_name(op) << ' ' << isa_name(isa) << " at " << batch[i] << ": "
              << got[i] << " instead of " << want;
        }
      });
    }
  }
}

TEST(MapFunctions, OfSeveralOperandsOnEveryInstructionSet) {
  Philox random(1);
  for (int index = 0; index < static_cast<int>(MapOp::kCount); ++index) {
    const auto op = static_cast<MapOp>(index);
    const int operands = numerics::operand_count(op);
    for (const int64_t count : {0, 1, 7, 8, 9, 15, 16, 17, 35, 4099}) {
      for (int repeats = 0; repeats < 1 << operands; ++repeats) {
        Guarded<float> x[3] = {Guarded<float>(count + 1, 1), Guarded<float>(count + 1, 2),
                               Guarded<float>(count + 1, 3)};
        for (auto& operand : x)
          for (int64_t i = 0; i <= count; ++i)
            operand[i] = odd_float(random);
        MapCall call{.op = op, .a = {}, .b = {}, .c = {}, .count = count, .y = nullptr};
        MapCall::From* from[] = {&call.a, &call.b, &call.c};
        for (int k = 0; k < operands; ++k)
          *from[k] = {x[k].data(), (repeats >> k & 1) != 0};
        for (const Isa isa : covered_isas("map")) {
          Guarded<float> y(count, 1);
          call.y = y.data();
          run_on(isa, call);
          ASSERT_TRUE(y.guards_intact());
          for (int64_t i = 0; i < count; ++i) {
            float v[3] = {};
            for (int k = 0; k < operands; ++k)
              v[k] = x[k][from[k]->repeats ? 0 : i];
            const float want = numerics::apply(op, v[0], v[1], v[2]);
            ASSERT_TRUE(same_bits(want, y[i]))
                << numerics::op_name(op) << ' ' << isa_name(isa) << " of " << v[0] << ", " << v[1]
                << ", " << v[2] << ": " << y[i] << " instead of " << want;
          }
        }
      }
    }
  }
}

TEST(MapFunctions, RoundingToHalfIsThatOfTheCodecs) {
  sweep(61, [&](const std::vector<float>& batch) {
    for (const float x : batch) {
      const float f16 = f16_to_float(f16_from_float(x)), bf16 = bf16_to_float(bf16_from_float(x));
      const float half = numerics::round_to_f16(x), brain = numerics::round_to_bf16(x);
      if (std::isnan(x)) {
        ASSERT_TRUE(std::isnan(half) && std::isnan(brain));
        continue;
      }
      ASSERT_EQ(std::bit_cast<uint32_t>(half), std::bit_cast<uint32_t>(f16)) << x;
      ASSERT_EQ(std::bit_cast<uint32_t>(brain), std::bit_cast<uint32_t>(bf16)) << x;
    }
  });
}

// The reference raises to powers by the C library.
TEST(MapFunctions, PowersAreThoseOfTheCLibrary) {
  SerialFor serial;
  const std::pair<double, MapOp> powers[] = {{2.0, MapOp::kMul},
                                             {3.0, MapOp::kCube},
                                             {0.5, MapOp::kHalfPower},
                                             {-1.0, MapOp::kReciprocal}};
  for (const auto& [exponent, op] : powers) {
    std::vector<float> want;
    std::vector<float> got;
    sweep(1, [&, exponent = exponent, op = op](const std::vector<float>& batch) {
      const auto count = static_cast<int64_t>(batch.size());
      want.resize(batch.size());
      got.resize(batch.size());
      power(batch.data(), count, exponent, want.data(), serial);
      const MapCall::From x{batch.data(), false};
      run_on(default_isa(), {.op = op, .a = x, .b = x, .c = {}, .count = count, .y = got.data()});
      for (size_t i = 0; i < batch.size(); ++i)
        ASSERT_TRUE(same_bits(want[i], got[i])) << batch[i] << " to the power of " << exponent
                                                << " is " << got[i] << " instead of " << want[i];
    });
  }
}

} // namespace
} // namespace octet::kernels

// SPDX-License-Identifier: Apache-2.0
// exp, erf, tanh, sigmoid, GELU: worst error against the C library's double functions, and every
// instruction set against the scalar specification, bit for bit. Over one float in 4093 and the
// neighbourhoods of every power of two; with OCTET_LONG set, errors over all 2^32 floats and bits
// over one in 127.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/codec.h"
#include "core/numerics/math.h"
#include "core/numerics/round.h"
#include "core/threads.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/broadcast.h"
#include "runtime/kernels/unary.h"

namespace octet::kernels {
namespace {

using octet::test::covered_isas;
using octet::test::Guarded;

// As stated in core/numerics/math.h.
constexpr double kExpUlp = 1.02;
constexpr double kErfUlp = 1.1;
constexpr double kTanhUlp = 1.34;
constexpr double kSigmoidUlp = 2.41;
constexpr double kGeluAbsolute = 1.0e-7;

float from_bits(uint64_t bits) {
  const auto word = static_cast<uint32_t>(bits);
  float x = 0.0F;
  std::memcpy(&x, &word, sizeof(x));
  return x;
}

// Calls visit(values) with batches that cover one float in `long_step` (OCTET_LONG) or 4093.
template <typename Visit>
void sweep(uint64_t long_step, Visit visit) {
  const uint64_t step = std::getenv("OCTET_LONG") != nullptr ? long_step : 4093;
  std::vector<float> batch;
  const auto push = [&](float x) {
    batch.push_back(x);
    if (batch.size() == (size_t{1} << 16)) {
      visit(batch);
      batch.clear();
    }
  };
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += step) {
    push(from_bits(bits));
  }
  for (uint64_t exponent = 0; exponent < 512; ++exponent) {
    for (uint64_t i = 0; i < 64; ++i) {
      push(from_bits((exponent << 23) + i));
      push(from_bits((exponent << 23) + 0x7FFFFF - i));
    }
  }
  visit(batch);
}

struct Worst {
  double ulp = 0.0;
  double absolute = 0.0;
  float at = 0.0F;
};

// Of the fastest instruction set; another test shows that all give the same bits.
template <typename Exact>
Worst worst_error(Unary f, Exact exact) {
  Worst worst;
  SerialFor serial;
  std::vector<float> y;
  sweep(1, [&](const std::vector<float>& batch) {
    y.resize(batch.size());
    unary(f, batch.data(), static_cast<int64_t>(batch.size()), y.data(), default_isa(), serial);
    for (size_t i = 0; i < batch.size(); ++i) {
      const float got = y[i];
      const double want = exact(static_cast<double>(batch[i]));
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got)) << batch[i];
        continue;
      }
      const auto rounded = static_cast<float>(want);
      if (std::isinf(rounded) || std::isinf(got)) {
        ASSERT_EQ(got, rounded) << batch[i];
        continue;
      }
      // A correctly rounded value is half an ulp off at most, which is never the worst.
      if (got == rounded) continue;
      int exponent = 0;
      std::frexp(rounded, &exponent);
      const double error = std::fabs(static_cast<double>(got) - want);
      const double ulps = error / std::ldexp(1.0, std::max(exponent - 24, -149));
      if (ulps > worst.ulp) worst = {ulps, worst.absolute, batch[i]};
      worst.absolute = std::max(worst.absolute, error / std::max(1.0, std::fabs(want)));
    }
  });
  std::printf("worst error %.4f ulp at %a; %.3g absolute below 1, relative above\n", worst.ulp,
              static_cast<double>(worst.at), worst.absolute);
  return worst;
}

TEST(Unary, ExpError) {
  EXPECT_LE(worst_error(Unary::kExp, [](double x) { return std::exp(x); }).ulp, kExpUlp);
}

TEST(Unary, ErfError) {
  EXPECT_LE(worst_error(Unary::kErf, [](double x) { return std::erf(x); }).ulp, kErfUlp);
}

TEST(Unary, TanhError) {
  EXPECT_LE(worst_error(Unary::kTanh, [](double x) { return std::tanh(x); }).ulp, kTanhUlp);
}

TEST(Unary, SigmoidError) {
  EXPECT_LE(worst_error(Unary::kSigmoid, [](double x) { return 1.0 / (1.0 + std::exp(-x)); }).ulp,
            kSigmoidUlp);
}

// GELU cancels on the left, so its bound is absolute there. At -infinity it is NaN, as its formula
// is.
TEST(Unary, GeluError) {
  const auto exact = [](double x) {
    return std::isinf(x) && x < 0 ? std::nan("") : 0.5 * x * std::erfc(-x * M_SQRT1_2);
  };
  EXPECT_LE(worst_error(Unary::kGelu, exact).absolute, kGeluAbsolute);
}

TEST(Unary, EveryInstructionSetMatchesTheScalars) {
  SerialFor serial;
  for (const Unary f :
       {Unary::kExp, Unary::kErf, Unary::kTanh, Unary::kSigmoid, Unary::kGelu, Unary::kGeluTanh,
        Unary::kRelu, Unary::kSqrt, Unary::kReciprocal, Unary::kNeg, Unary::kAbs, Unary::kSquare,
        Unary::kCube, Unary::kHalfPower, Unary::kRoundF16, Unary::kRoundBf16}) {
    for (const Isa isa : covered_isas("unary")) {
      std::vector<float> want;
      std::vector<float> got;
      sweep(127, [&](const std::vector<float>& batch) {
        want.resize(batch.size());
        got.resize(batch.size());
        unary_scalar(f, batch.data(), static_cast<int64_t>(batch.size()), want.data());
        unary(f, batch.data(), static_cast<int64_t>(batch.size()), got.data(), isa, serial);
        for (size_t i = 0; i < batch.size(); ++i) {
          if (std::isnan(want[i]) && std::isnan(got[i])) continue;
          ASSERT_EQ(std::bit_cast<uint32_t>(want[i]), std::bit_cast<uint32_t>(got[i]))
              << isa_name(isa) << " function " << static_cast<int>(f) << " at " << batch[i] << ": "
              << got[i] << " instead of " << want[i];
        }
      });
    }
  }
}

TEST(Unary, RoundingToHalfIsThatOfTheCodecs) {
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
TEST(Unary, PowersAreThoseOfTheCLibrary) {
  SerialFor serial;
  for (const double exponent : {2.0, 3.0, 0.5, -1.0}) {
    const auto f = unary_power(exponent);
    ASSERT_TRUE(f.has_value()) << exponent;
    std::vector<float> want;
    std::vector<float> got;
    sweep(1, [&](const std::vector<float>& batch) {
      const auto count = static_cast<int64_t>(batch.size());
      want.resize(batch.size());
      got.resize(batch.size());
      power(batch.data(), count, exponent, want.data(), serial);
      unary(*f, batch.data(), count, got.data(), default_isa(), serial);
      for (size_t i = 0; i < batch.size(); ++i) {
        if (std::isnan(want[i]) && std::isnan(got[i])) continue;
        ASSERT_EQ(std::bit_cast<uint32_t>(want[i]), std::bit_cast<uint32_t>(got[i]))
            << batch[i] << " to the power of " << exponent << " is " << got[i] << " instead of "
            << want[i];
      }
    });
  }
  EXPECT_FALSE(unary_power(1.5).has_value());
}

TEST(Unary, SizesAndGuards) {
  SerialFor serial;
  for (const Isa isa : covered_isas("unary")) {
    for (const int64_t count : {0, 1, 7, 8, 9, 15, 16, 17, 35}) {
      Guarded<float> x(count, 1);
      Guarded<float> y(count, 3);
      for (int64_t i = 0; i < count; ++i) {
        x[i] = static_cast<float>(i) * 0.37F - 3.0F;
      }
      unary(Unary::kGelu, x.data(), count, y.data(), isa, serial);
      EXPECT_TRUE(y.guards_intact());
      for (int64_t i = 0; i < count; ++i) {
        EXPECT_EQ(y[i], numerics::gelu(x[i]));
      }
    }
  }
}

// Shapes of both operands and of the result, rank 3 with ones where they repeat.
struct Broadcast {
  std::vector<int64_t> a, b, y;
};

int64_t element(const std::vector<int64_t>& shape, const std::vector<int64_t>& index) {
  int64_t at = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    at = at * shape[i] + (shape[i] == 1 ? 0 : index[i]);
  }
  return at;
}

int64_t count_of(const std::vector<int64_t>& shape) {
  return shape[0] * shape[1] * shape[2];
}

void check_broadcast(const Broadcast& shapes, Isa isa, ParallelFor& pool) {
  std::vector<float> a(static_cast<size_t>(count_of(shapes.a)));
  std::vector<float> b(static_cast<size_t>(count_of(shapes.b)));
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i % 1013) - 500.0F;
  }
  for (size_t i = 0; i < b.size(); ++i) {
    b[i] = static_cast<float>(i % 97) * 0.3F;
  }
  const std::vector<std::vector<int64_t>> inputs = {shapes.a, shapes.b};
  const BroadcastPlan plan = plan_broadcast(inputs, shapes.y);
  std::vector<float> y(static_cast<size_t>(count_of(shapes.y)));
  for (const Binary op :
       {Binary::kAdd, Binary::kSub, Binary::kMul, Binary::kDiv, Binary::kMin, Binary::kMax}) {
    binary_broadcast(op, plan, a.data(), b.data(), y.data(), isa, pool);
    size_t at = 0;
    for (int64_t i = 0; i < shapes.y[0]; ++i) {
      for (int64_t j = 0; j < shapes.y[1]; ++j) {
        for (int64_t k = 0; k < shapes.y[2]; ++k, ++at) {
          const float p = a[static_cast<size_t>(element(shapes.a, {i, j, k}))];
          const float q = b[static_cast<size_t>(element(shapes.b, {i, j, k}))];
          const float want = op == Binary::kAdd   ? p + q
                             : op == Binary::kSub ? p - q
                             : op == Binary::kMul ? p * q
                             : op == Binary::kDiv ? p / q
                             : op == Binary::kMin ? std::min(p, q)
                                                  : std::max(p, q);
          if (std::isnan(want) && std::isnan(y[at])) continue;
          ASSERT_EQ(y[at], want) << i << " " << j << " " << k;
        }
      }
    }
  }
}

TEST(Binary, ShapesBroadcast) {
  ThreadPool pool(2);
  const Broadcast cases[] = {
      {{3, 5, 37}, {3, 5, 37}, {3, 5, 37}}, {{3, 5, 37}, {1, 1, 37}, {3, 5, 37}},
      {{1, 1, 37}, {3, 5, 37}, {3, 5, 37}}, {{3, 5, 37}, {1, 1, 1}, {3, 5, 37}},
      {{1, 1, 1}, {3, 5, 37}, {3, 5, 37}},  {{3, 5, 37}, {3, 5, 1}, {3, 5, 37}},
      {{3, 1, 37}, {1, 5, 1}, {3, 5, 37}},  {{1, 5, 37}, {3, 1, 37}, {3, 5, 37}},
      {{1, 1, 1}, {1, 1, 1}, {1, 1, 1}},    {{1, 200, 1003}, {1, 200, 1003}, {1, 200, 1003}},
      {{2, 0, 3}, {2, 1, 3}, {2, 0, 3}},
  };
  for (const Isa isa : covered_isas("binary")) {
    for (const Broadcast& shapes : cases) {
      check_broadcast(shapes, isa, pool);
    }
  }
}

} // namespace
} // namespace octet::kernels

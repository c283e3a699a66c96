// SPDX-License-Identifier: Apache-2.0
// Functions behind products: programs on tiles and Q of what they give, on every instruction set,
// against one number after another.
#include <algorithm>
#include <bit>
#include <random>
#include <string>
#include <vector>

#include "core/numerics/math.h"
#include "core/numerics/round.h"
#include "core/threads.h"
#include "kernels/float_sweep.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/igemm.h"
#include "runtime/kernels/tile_function.h"

namespace octet::kernels {
namespace {

using octet::test::covered_isas;
using octet::test::Guarded;
using octet::test::share;

numerics::Program program(const std::string& text, std::vector<float> constants = {}) {
  return numerics::parse_program(text, constants, 1).value();
}

/// Codes of the function for all of x, a tile at a time, against the composition of its parts.
void check_codes(const TileFunction& f,
                 float (*exact)(float),
                 const QuantizeArgs& grid,
                 const std::vector<float>& x,
                 const std::string& what) {
  for (size_t at = 0; at < x.size(); at += kTileNumbers) {
    const auto count = static_cast<int64_t>(std::min<size_t>(kTileNumbers, x.size() - at));
    std::vector<float> tile(x.begin() + static_cast<int64_t>(at),
                            x.begin() + static_cast<int64_t>(at) + count);
    Guarded<uint8_t> y(count, 1);
    QuantizeArgs args = grid;
    args.x = tile.data();
    args.count = count;
    args.y = y.data();
    f.to_codes(args, tile.data());
    ASSERT_TRUE(y.guards_intact()) << what;
    for (int64_t i = 0; i < count; ++i) {
      const float v = x[at + static_cast<size_t>(i)];
      const auto want = static_cast<uint8_t>(
          numerics::quantize(exact(v), grid.scale, grid.zero_point, grid.lo, grid.hi));
      ASSERT_EQ(y[i], want) << what << " x=" << v << " scale=" << grid.scale;
    }
  }
}

/// Numbers whose results are the middle between two codes, as near as floats come, and around them.
std::vector<float> near_middles(float (*exact)(float), float scale) {
  std::vector<float> out;
  for (int code = -4; code < 130; ++code) {
    const double middle = (code + 0.5) * static_cast<double>(scale);
    float low = -0.7F, high = 1e6F; // it grows from its least value on
    if (static_cast<double>(exact(low)) > middle) continue;
    for (int step = 0; step < 200 && std::nextafter(low, high) < high; ++step) {
      const float mid = low + (high - low) / 2;
      (static_cast<double>(exact(mid)) < middle ? low : high) = mid;
    }
    for (int k = -3; k <= 3; ++k)
      out.push_back(std::bit_cast<float>(std::bit_cast<uint32_t>(low) + static_cast<uint32_t>(k)));
  }
  return out;
}

TEST(TileFunction, GeluCodesAreThoseOfTheStepsApart) {
  constexpr float kScales[] = {0.003F, 0.01F,    0.0237F,  0.05F,   0.11F,     2.5F,      1e-6F,
                               1e6F,   0x1p-60F, 0x1p-61F, 0x1p60F, 0x1.8p60F, 0x1p-149F, 0x1p127F};
  std::mt19937 random(3);
  const std::pair<const char*, float (*)(float)> forms[] = {{"gelu x0", numerics::gelu},
                                                            {"gelu_tanh x0", numerics::gelu_tanh}};
  for (const auto& [text, exact] : forms)
    for (const Isa isa : covered_isas("tile function")) {
      const TileFunction f(program(text), isa);
      for (const float scale : kScales) {
        QuantizeArgs grid{.scale = scale, .zero_point = -9, .lo = -128, .hi = 127};
        const std::string what = std::string(text) + " " + std::string(isa_name(isa));
        std::vector<float> x = near_middles(exact, scale);
        std::normal_distribution<float> wide(0.0F, std::min(60 * scale, 1e30F));
        std::normal_distribution<float> narrow(0.0F, 1.5F);
        for (int i = 0; i < 3000; ++i) {
          x.push_back(wide(random));
          x.push_back(narrow(random));
        }
        check_codes(f, exact, grid, x, what);
        grid = {.scale = scale, .zero_point = 4, .lo = 0, .hi = 255, .is_signed = false};
        check_codes(f, exact, grid, x, what);
      }
    }
}

TEST(TileFunction, GeluCodesOfAllFloats) {
  const std::pair<const char*, float (*)(float)> forms[] = {{"gelu x0", numerics::gelu},
                                                            {"gelu_tanh x0", numerics::gelu_tanh}};
  for (const auto& form : forms)
    for (const Isa isa : covered_isas("tile function")) {
      const TileFunction f(program(form.first), isa);
      const auto exact = form.second;
      const std::string what = std::string(form.first) + " " + std::string(isa_name(isa));
      octet::test::sweep(101, [&](const std::vector<float>& batch) {
        check_codes(f, exact, {.scale = 0.04F, .zero_point = 3, .lo = -128, .hi = 127}, batch,
                    what);
      });
    }
}

struct Case {
  std::string text;
  std::vector<float> constants;
};

TEST(TileFunction, BehindAProductIsThePartsApart) {
  const Case cases[] = {
      {"gelu x0", {}},
      {"gelu_tanh x0", {}},
      {"sigmoid x0; mul x0 t0", {}},
      {"fma x0 c0 c1; clamp t0 c2 c3; mul t1 x0; tanh t2; add t3 t1", {0.2F, 0.5F, 0.0F, 1.0F}}};
  std::mt19937 random(5);
  SerialFor serial;
  for (const Case& c : cases)
    for (const Isa isa : covered_isas("tile function"))
      for (const int64_t n : {1, 5, 8, 16, 21, 40})
        for (const int64_t m : {1, 2, 3, 33, 70}) {
          constexpr int64_t kK = 37;
          const numerics::Program made = program(c.text, c.constants);
          const TileFunction function(made, isa);
          std::vector<uint8_t> x(static_cast<size_t>(m * kK));
          std::vector<int8_t> w(static_cast<size_t>(n * kK));
          for (uint8_t& v : x)
            v = static_cast<uint8_t>(random());
          for (int8_t& v : w)
            v = static_cast<int8_t>(random() % 255 - 127);
          std::vector<float> multiplier(static_cast<size_t>(n)), bias(static_cast<size_t>(n)),
              rows(static_cast<size_t>(m));
          for (float& v : multiplier)
            v = 1e-5F * static_cast<float>(random() % 9 + 1);
          for (float& v : bias)
            v = static_cast<float>(random() % 100) / 50 - 1;
          for (float& v : rows)
            v = static_cast<float>(random() % 4 + 1);
          const PackedWeights packed = pack_weights(w.data(), kK, n, kK, {}, isa);
          const IgemmColumns columns = make_columns(packed, {.x_zero_point = 3,
                                                             .multiplier = multiplier.data(),
                                                             .multiplier_count = n,
                                                             .bias = bias.data()});
          IgemmArgs args;
          args.m = m;
          args.x = x.data();
          args.x_stride = kK;
          args.w = &packed;
          args.columns = &columns;
          args.y_stride = n;
          args.epilogue.type = YType::kFloat;
          args.epilogue.row_multiplier = m % 2 == 0 ? rows.data() : nullptr;
          const AlignedBuffer shared = share(args);
          std::vector<float> sums(static_cast<size_t>(m * n));
          args.y = sums.data();
          igemm(args, serial);
          args.epilogue.function = &function;
          Guarded<float> floats(m * n);
          args.y = floats.data();
          igemm(args, serial);
          Guarded<uint8_t> codes(m * n, 1);
          args.epilogue.type = YType::kUint8;
          args.epilogue.zero_point = 30;
          args.epilogue.lo = 2;
          args.epilogue.hi = 255;
          args.epilogue.scale = 0.0173F;
          args.y = codes.data();
          igemm(args, serial);
          ASSERT_TRUE(floats.guards_intact() && codes.guards_intact());
          for (int64_t i = 0; i < m * n; ++i) {
            const float want = made.eval({&sums[static_cast<size_t>(i)], 1});
            ASSERT_TRUE(octet::test::same_bits(floats[i], want))
                << c.text << ' ' << isa_name(isa) << ' ' << i;
            ASSERT_EQ(codes[i], numerics::quantize(want, 0.0173F, 30, 2, 255))
                << c.text << ' ' << isa_name(isa) << ' ' << i;
          }
        }
}

} // namespace
} // namespace octet::kernels

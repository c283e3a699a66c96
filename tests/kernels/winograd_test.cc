// SPDX-License-Identifier: Apache-2.0
// int8 convolution by minimal filtering against the scalar one, which conv_test.cc holds against
// direct loops. Bit-exact.
#include "core/threads.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/igemm_tile.h"
#include "runtime/kernels/winograd.h"

namespace octet::kernels {
namespace {

using octet::test::covered_isas;
using octet::test::Fill;
using octet::test::fill;
using octet::test::Guarded;
using octet::test::share;

struct WinogradProblem {
  int64_t batch, h, w, in, out;
  int64_t top = 1, left = 1, below = 1, right = 1;
};

ConvShape winograd_shape(const WinogradProblem& p) {
  ConvShape s;
  s.batch = p.batch;
  s.in_h = p.h;
  s.in_w = p.w;
  s.in_c = p.in;
  s.out_c = p.out;
  s.kernel_h = s.kernel_w = 3;
  s.pad_top = p.top;
  s.pad_left = p.left;
  s.out_h = p.h + p.top + p.below - 2;
  s.out_w = p.w + p.left + p.right - 2;
  return s;
}

const WinogradProblem kWinogradProblems[] = {
    {1, 4, 4, 16, 16},
    {1, 3, 3, 16, 8, 0, 0, 0, 0},  // one output, half a panel
    {2, 5, 7, 17, 20},             // odd sizes and channels
    {3, 6, 3, 21, 33, 0, 1, 2, 0}, // unlike padding on each side
    {1, 1, 1, 40, 24},             // most of the tile in the padding
    {2, 2, 2, 16, 16, 4, 3, 5, 6}, // outputs wholly in the padding
    {1, 6, 75, 32, 48},            // lines of more tiles than end together
    {2, 28, 30, 48, 40},           // several chunks of tiles
    {1, 7, 9, 200, 300},           // and of panels
    {1, 12, 12, 256, 16, 2, 2, 2, 2},
};

/// What a layer of int8 codes gives, as `type`.
struct Layer {
  ConvShape shape;
  XRange range;
  int32_t zero = 0;
  Fill how = Fill::kUniform;
  YType type = YType::kInt32;
  bool residual = false;
};

/// Runs the layer on all instruction sets; how many of them transformed.
int check(const Layer& l, std::mt19937& random, ParallelFor& loop) {
  const ConvShape& s = l.shape;
  const int64_t x_count = s.batch * s.in_h * s.in_w * s.in_c, y_count = s.pixels() * s.out_c;
  const int64_t y_bytes = l.type == YType::kInt32 || l.type == YType::kFloat ? 4 : 1;
  Guarded<uint8_t> x(x_count, 1), residual(y_count, 1), want(y_count * y_bytes, 4);
  std::vector<int8_t> w(static_cast<size_t>(s.out_c * s.k()));
  fill(x.data(), x_count, l.range.lo, l.range.hi, l.how, random);
  fill(residual.data(), y_count, 0, 255, Fill::kUniform, random);
  fill(w.data(), static_cast<int64_t>(w.size()), -128, 127, l.how, random);
  std::vector<int32_t> bias(static_cast<size_t>(s.out_c));
  std::vector<float> multiplier(bias.size());
  fill(bias.data(), s.out_c, -500, 500, Fill::kUniform, random);
  for (size_t i = 0; i < multiplier.size(); ++i)
    multiplier[i] = 0.0001F * static_cast<float>(1 + i % 50);
  int transformed = 0;
  const auto run = [&](Isa isa, uint8_t* y) {
    const PackedConv packed = pack_conv(w.data(), s, l.range, isa);
    transformed += packed.winograd.bytes() > 0 ? 1 : 0;
    const std::vector<IgemmColumns> columns =
        make_conv_columns(packed, {.x_zero_point = l.zero,
                                   .bias_i32 = bias.data(),
                                   .multiplier = multiplier.data(),
                                   .multiplier_count = s.out_c});
    IconvArgs args;
    args.shape = s;
    args.x = x.data();
    args.x_zero_point = l.zero;
    args.w = &packed;
    args.columns = columns.data();
    args.epilogue.type = l.type;
    args.epilogue.zero_point = l.type == YType::kUint8 ? 111 : -7;
    args.epilogue.lo = l.type == YType::kUint8 ? 3 : -101;
    args.epilogue.hi = l.type == YType::kUint8 ? 250 : 90;
    if (l.residual) {
      args.epilogue.residual = residual.data();
      args.epilogue.residual_stride = s.out_c;
      args.epilogue.residual_multiplier = 0.37F;
    }
    args.y = y;
    const AlignedBuffer shared = share(args);
    iconv(args, loop);
  };
  run(Isa::kScalar, want.data());
  for (const Isa isa : covered_isas("winograd")) {
    SCOPED_TRACE(isa_name(isa));
    Guarded<uint8_t> y(y_count * y_bytes, 4);
    run(isa, y.data());
    EXPECT_TRUE(y.guards_intact());
    EXPECT_TRUE(y == want);
  }
  return transformed;
}

int instruction_sets_that_transform() {
  int count = 0;
  for (const Isa isa : covered_isas("winograd"))
    count += multiplies_in_int16(isa) ? 1 : 0;
  return count;
}

TEST(Winograd, MatchesScalar) {
  std::mt19937 random(1);
  ThreadPool pool(2);
  for (const WinogradProblem& p : kWinogradProblems) {
    SCOPED_TRACE("problem " + std::to_string(&p - kWinogradProblems));
    const ConvShape s = winograd_shape(p);
    for (const Fill how : {Fill::kExtremes, Fill::kUniform, Fill::kBell}) {
      check({s, {true, -128, 127}, -5, how}, random, pool);
      check({s, {true, -9, 127}, -7, how, YType::kInt8, true}, random, pool);
      check({s, {true, 0, 127}, 0, how, YType::kFloat}, random, pool);
      const int transformed = check({s, {false, 0, 255}, 131, how, YType::kUint8}, random, pool);
      // Weights of the whole range would be widened: transforming is less work.
      if (how == Fill::kUniform && p.out > 8) {
        EXPECT_EQ(transformed, instruction_sets_that_transform());
      }
    }
  }
}

TEST(Winograd, FourTimesTheSumsStayWithinInt32) {
  std::mt19937 random(2);
  SerialFor serial;
  const XRange range{false, 0, 255};
  // 255 * 128 * 9 channels are below 2^29 for 1827 channels.
  for (const auto& [channels, takes] : {std::pair<int64_t, bool>{1827, true}, {1828, false}}) {
    ConvShape s = winograd_shape({1, 3, 3, channels, 16});
    const std::vector<int8_t> w(static_cast<size_t>(s.out_c * s.k()), -128);
    for (const Isa isa : covered_isas("winograd"))
      EXPECT_EQ(pack_conv(w.data(), s, range, isa).winograd.bytes() > 0,
                takes && multiplies_in_int16(isa))
          << channels << ' ' << isa_name(isa);
    check({s, range, 7, Fill::kExtremes}, random, serial);
  }
}

TEST(Winograd, OtherWindowsAreMultipliedAsTheyAre) {
  const auto takes = [](void (*change)(ConvShape&)) {
    ConvShape s = winograd_shape({1, 8, 8, 32, 32});
    change(s);
    return takes_winograd(s, Isa::kAvx2);
  };
#if defined(__x86_64__)
  EXPECT_TRUE(takes([](ConvShape&) {}));
  EXPECT_FALSE(takes_winograd(winograd_shape({1, 8, 8, 32, 32}), Isa::kAvx512Vnni));
#endif
  EXPECT_FALSE(takes([](ConvShape& s) { s.stride_w = 2; }));
  EXPECT_FALSE(takes([](ConvShape& s) { s.dilation_h = 2; }));
  EXPECT_FALSE(takes([](ConvShape& s) { s.groups = 2; }));
  EXPECT_FALSE(takes([](ConvShape& s) { s.kernel_h = 5; }));
  EXPECT_FALSE(takes([](ConvShape& s) { s.in_c = 15; }));
}

} // namespace
} // namespace octet::kernels

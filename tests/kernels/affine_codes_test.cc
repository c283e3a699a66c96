// SPDX-License-Identifier: Apache-2.0
// Lines between codes against the programs that they stand for, on all 256 codes of every channel.
#include "core/numerics/round.h"
#include "core/philox.h"
#include "core/threads.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/affine_codes.h"

namespace octet::kernels {
namespace {

using numerics::parse_program;
using octet::test::covered_isas;
using octet::test::Guarded;

MapFormat random_format(Philox& random) {
  const bool is_signed = random.below(2) == 0;
  MapFormat format;
  format.type = is_signed ? MapFormat::Type::kInt8 : MapFormat::Type::kUint8;
  format.scale = 0.01F + 0.0013F * static_cast<float>(random.below(60));
  format.lo = is_signed ? -128 : 0;
  format.hi = format.lo + 255;
  format.zero_point = format.lo + static_cast<int32_t>(random.below(256));
  return format;
}

uint8_t code_by_program(const ChannelProgram& made, uint8_t code, size_t channel) {
  const int32_t x =
      made.x.type == MapFormat::Type::kInt8 ? int32_t{static_cast<int8_t>(code)} : int32_t{code};
  std::vector<float> element = {numerics::dequantize(x, made.x.scale, made.x.zero_point)};
  for (const std::vector<float>& numbers : made.others)
    element.push_back(numbers[numbers.size() == 1 ? 0 : channel]);
  return static_cast<uint8_t>(numerics::quantize(made.program->eval(element), made.y.scale,
                                                 made.y.zero_point, made.y.lo, made.y.hi));
}

/// Every code in every channel, and a few more elements behind the last whole row.
void expect_codes(const ChannelProgram& made, const AffineCodes& affine, Philox& random) {
  SerialFor serial;
  ThreadPool pool(2);
  const int64_t count = 256 * made.channels + random.below(made.channels);
  Guarded<uint8_t> x(count, 1);
  for (int64_t i = 0; i < count; ++i)
    x[i] = static_cast<uint8_t>(i / made.channels);
  for (const Isa isa : covered_isas("affine")) {
    for (ParallelFor* parallel :
         {static_cast<ParallelFor*>(&serial), static_cast<ParallelFor*>(&pool)}) {
      Guarded<uint8_t> y(count, 3);
      affine_codes(affine, x.data(), count, y.data(), isa, *parallel);
      ASSERT_TRUE(y.guards_intact());
      for (int64_t i = 0; i < count; ++i)
        ASSERT_EQ(y[i], code_by_program(made, x[i], static_cast<size_t>(i % made.channels)))
            << isa_name(isa) << " element " << i << " of " << made.channels << " channels";
    }
  }
}

TEST(AffineCodes, HaveTheCodesOfTheirPrograms) {
  Philox random(11);
  constexpr const char* kPrograms[] = {
      "mul x0 x1; add t0 x2; relu t1",
      "fma x0 x1 x2; mul t0 x3; add x4 t1; relu t2",
      "fma x1 x0 x2",
      "sub x1 x0; div t0 c0; neg t1; clamp t2 c1 c2",
      "relu x0",
  };
  int found = 0;
  for (int round = 0; round < 60; ++round) {
    const auto program = parse_program(kPrograms[static_cast<size_t>(round) % 5],
                                       std::vector<float>{1.7F, -0.3F, 1.1F}, 5);
    ASSERT_TRUE(program.ok()) << program.error().text();
    ChannelProgram made{.program = &*program,
                        .x = random_format(random),
                        .y = random_format(random),
                        .channels = 1 + random.below(70),
                        .others = {}};
    for (int k = 0; k < 4; ++k) {
      std::vector<float> numbers(static_cast<size_t>(random.below(4) == 0 ? 1 : made.channels));
      for (float& v : numbers)
        v = static_cast<float>(random.below(4000) - 2000) / 700.0F;
      made.others.push_back(std::move(numbers));
    }
    const auto affine = find_affine(made, covered_isas("affine").back());
    if (!affine) continue;
    ++found;
    expect_codes(made, *affine, random);
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(found, 55); // some channel may have no line with the bits
}

TEST(AffineCodes, AreNotFoundWhereTheProgramIsNone) {
  for (const char* text :
       {"mul x0 x0", "relu x0; add t0 c0", "sigmoid x0", "div c0 x0", "mul x0 c1", "mul x0 c2"}) {
    const auto program = parse_program(
        text, std::vector<float>{1.5F, std::numeric_limits<float>::infinity(), 1e30F}, 1);
    ASSERT_TRUE(program.ok()) << program.error().text();
    const MapFormat codes{.type = MapFormat::Type::kInt8, .scale = 0.05F};
    EXPECT_FALSE(
        find_affine({.program = &*program, .x = codes, .y = codes, .channels = 3}, Isa::kScalar))
        << text;
  }
}

} // namespace
} // namespace octet::kernels

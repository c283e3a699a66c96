// SPDX-License-Identifier: Apache-2.0
// Random programs over random broadcasts, of floats and of codes, against Program::eval of each
// element.
#include <algorithm>

#include "core/numerics/round.h"
#include "core/threads.h"
#include "kernels/float_sweep.h"
#include "kernels/kernel_test.h"
#include "runtime/kernels/map.h"

namespace octet::kernels {
namespace {

using numerics::MapInstruction;
using numerics::MapOp;
using numerics::MapOperand;
using numerics::Program;
using octet::test::covered_isas;
using octet::test::Guarded;
using octet::test::odd_float;
using octet::test::same_bits;
using Kind = MapOperand::Kind;

Program random_program(Philox& random, size_t inputs) {
  Program program{.inputs = inputs, .constants = {}, .code = {}};
  const auto count = static_cast<size_t>(1 + random.below(numerics::kMaxMapInstructions));
  for (int64_t i = random.below(4); i >= 0; --i)
    program.constants.push_back(odd_float(random));
  for (size_t i = 0; i < count; ++i) {
    MapInstruction each{.op =
                            static_cast<MapOp>(random.below(static_cast<int64_t>(MapOp::kCount)))};
    for (int k = 0; k < numerics::operand_count(each.op); ++k) {
      const int64_t kind = random.below(i > 0 ? 5 : 3);
      const auto pick = [&](size_t of) {
        return static_cast<uint8_t>(random.below(static_cast<int64_t>(of)));
      };
      if (kind >= 3)
        each.operands[k] = {Kind::kResult, kind == 3 ? static_cast<uint8_t>(i - 1) : pick(i)};
      else if (kind == 2)
        each.operands[k] = {Kind::kConstant, pick(program.constants.size())};
      else
        each.operands[k] = {Kind::kInput, pick(inputs)};
    }
    program.code.push_back(each);
  }
  return program;
}

int64_t product(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (const int64_t d : shape)
    n *= d;
  return n;
}

/// Where element `index` of the output finds its number.
int64_t
broadcast_at(const std::vector<int64_t>& from, const std::vector<int64_t>& to, int64_t index) {
  int64_t at = 0;
  int64_t stride = 1;
  for (size_t i = 0; i < to.size(); ++i) {
    const int64_t size = to[to.size() - 1 - i];
    if (i < from.size()) {
      const int64_t mine = from[from.size() - 1 - i];
      if (mine != 1) at += index % size * stride;
      stride *= mine;
    }
    index /= size;
  }
  return at;
}

std::vector<int64_t> random_output(Philox& random) {
  constexpr int64_t kSizes[] = {1, 2, 3, 5, 8, 16, 17, 40, 100, 257, 700};
  std::vector<int64_t> output;
  for (int64_t rank = random.below(5); rank > 0; --rank)
    output.push_back(random.below(40) == 0 ? 0 : kSizes[random.below(std::size(kSizes))]);
  while (product(output) > 60000)
    *std::max_element(output.begin(), output.end()) = 2;
  return output;
}

MapFormat random_format(Philox& random, bool coded) {
  if (!coded) return {};
  MapFormat format;
  const bool is_signed = random.below(2) == 0;
  format.type = is_signed ? MapFormat::Type::kInt8 : MapFormat::Type::kUint8;
  format.scale = 0.01F + 0.001F * static_cast<float>(random.below(100));
  format.lo = is_signed ? -128 : 0;
  format.hi = format.lo + 255;
  format.zero_point = format.lo + static_cast<int32_t>(random.below(256));
  if (random.below(3) == 0) format.lo += static_cast<int32_t>(random.below(100));
  return format;
}

/// A tensor beside a program, and the numbers that it stands for.
struct Stored {
  MapFormat format;
  std::vector<float> numbers;
  std::vector<uint8_t> codes;

  Stored(Philox& random, MapFormat f, int64_t count)
      : format(f), numbers(static_cast<size_t>(count)), codes(f.coded() ? numbers.size() : 0) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = odd_float(random);
      if (!format.coded()) continue;
      codes[i] = static_cast<uint8_t>(random.below(256));
      const int32_t code = format.type == MapFormat::Type::kInt8
                               ? int32_t{static_cast<int8_t>(codes[i])}
                               : int32_t{codes[i]};
      numbers[i] = numerics::dequantize(code, format.scale, format.zero_point);
    }
  }
  const void* data() const {
    return format.coded() ? static_cast<const void*>(codes.data()) : numbers.data();
  }
};

/// Runs the plan everywhere and compares with the numbers that it should give.
void expect_results(const MapPlan& plan,
                    const std::vector<const void*>& places,
                    const MapFormat& y_format,
                    const std::vector<float>& want,
                    const std::string& what) {
  SerialFor serial;
  ThreadPool pool(2);
  const auto count = static_cast<int64_t>(want.size());
  for (const Isa isa : covered_isas("map")) {
    for (ParallelFor* parallel :
         {static_cast<ParallelFor*>(&serial), static_cast<ParallelFor*>(&pool)}) {
      SCOPED_TRACE(what + ' ' + std::string(isa_name(isa)));
      Guarded<float> y(y_format.coded() ? 0 : count, 1);
      Guarded<uint8_t> codes(y_format.coded() ? count : 0, 1);
      plan.run(places, y_format.coded() ? static_cast<void*>(codes.data()) : y.data(), isa,
               *parallel);
      ASSERT_TRUE(y.guards_intact() && codes.guards_intact());
      for (int64_t i = 0; i < count; ++i) {
        const float number = want[static_cast<size_t>(i)];
        if (y_format.coded())
          ASSERT_EQ(codes[i],
                    static_cast<uint8_t>(numerics::quantize(
                        number, y_format.scale, y_format.zero_point, y_format.lo, y_format.hi)));
        else
          ASSERT_TRUE(same_bits(number, y[i])) << y[i] << " instead of " << number;
      }
    }
  }
}

TEST(Map, RandomProgramsOverRandomBroadcasts) {
  Philox random(2);
  for (int round = 0; round < 800; ++round) {
    const std::vector<int64_t> output = random_output(random);
    const bool any_coded = random.below(2) == 0;
    // Of one or two, much of a program is a function of the same codes.
    const int64_t most = round % 2 == 0 ? 2 : int64_t{numerics::kMaxMapInputs};
    const auto inputs = static_cast<size_t>(1 + random.below(most));
    std::vector<std::vector<int64_t>> shapes(inputs, output);
    for (size_t k = 1; k < inputs; ++k) {
      for (int64_t& d : shapes[k])
        if (random.below(2) == 0) d = 1;
      while (!shapes[k].empty() && random.below(4) == 0)
        shapes[k].erase(shapes[k].begin());
    }
    std::vector<Stored> x;
    std::vector<const void*> places;
    std::vector<MapFormat> formats;
    x.reserve(inputs);
    for (size_t k = 0; k < inputs; ++k) {
      formats.push_back(random_format(random, any_coded && random.below(2) == 0));
      x.emplace_back(random, formats[k], product(shapes[k]));
      places.push_back(x[k].data());
    }
    const MapFormat y_format = random_format(random, any_coded && random.below(2) == 0);
    const Program program = random_program(random, inputs);
    std::vector<float> want(static_cast<size_t>(product(output)));
    std::vector<float> element(inputs);
    for (size_t i = 0; i < want.size(); ++i) {
      for (size_t k = 0; k < inputs; ++k)
        element[k] = x[k].numbers[static_cast<size_t>(
            broadcast_at(shapes[k], output, static_cast<int64_t>(i)))];
      want[i] = program.eval(element);
    }
    const MapPlan plan(program, shapes, output, any_coded ? formats : std::vector<MapFormat>{},
                       y_format);
    expect_results(plan, places, y_format, want, numerics::program_text(program));
    if (HasFatalFailure()) return;
  }
}

} // namespace
} // namespace octet::kernels

// SPDX-License-Identifier: Apache-2.0
// Random programs over random broadcasts against Program::eval of each element.
#include <algorithm>

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

TEST(Map, RandomProgramsOverRandomBroadcasts) {
  Philox random(2);
  SerialFor serial;
  ThreadPool pool(2);
  constexpr int64_t kSizes[] = {1, 2, 3, 5, 8, 16, 17, 40, 100, 257, 700};
  for (int round = 0; round < 300; ++round) {
    std::vector<int64_t> output;
    for (int64_t rank = random.below(5); rank > 0; --rank)
      output.push_back(random.below(40) == 0 ? 0 : kSizes[random.below(std::size(kSizes))]);
    while (product(output) > 60000)
      *std::max_element(output.begin(), output.end()) = 2;
    const auto inputs = static_cast<size_t>(1 + random.below(numerics::kMaxMapInputs));
    std::vector<std::vector<int64_t>> shapes(inputs, output);
    for (size_t k = 1; k < inputs; ++k) {
      for (int64_t& d : shapes[k])
        if (random.below(2) == 0) d = 1;
      while (!shapes[k].empty() && random.below(4) == 0)
        shapes[k].erase(shapes[k].begin());
    }
    std::vector<std::vector<float>> x(inputs);
    std::vector<const float*> places;
    for (size_t k = 0; k < inputs; ++k) {
      x[k].resize(static_cast<size_t>(product(shapes[k])));
      for (float& v : x[k])
        v = odd_float(random);
      places.push_back(x[k].data());
    }
    const Program program = random_program(random, inputs);
    const MapPlan plan(program, shapes, output);
    std::vector<float> want(static_cast<size_t>(product(output)));
    std::vector<float> element(inputs);
    for (size_t i = 0; i < want.size(); ++i) {
      for (size_t k = 0; k < inputs; ++k)
        element[k] =
            x[k][static_cast<size_t>(broadcast_at(shapes[k], output, static_cast<int64_t>(i)))];
      want[i] = program.eval(element);
    }
    for (const Isa isa : covered_isas("map")) {
      for (ParallelFor* parallel :
           {static_cast<ParallelFor*>(&serial), static_cast<ParallelFor*>(&pool)}) {
        Guarded<float> y(product(output), 1);
        plan.run(places, y.data(), isa, *parallel);
        ASSERT_TRUE(y.guards_intact());
        for (size_t i = 0; i < want.size(); ++i)
          ASSERT_TRUE(same_bits(want[i], y[static_cast<int64_t>(i)]))
              << numerics::program_text(program) << ' ' << isa_name(isa) << ": "
              << y[static_cast<int64_t>(i)] << " instead of " << want[i];
      }
    }
  }
}

} // namespace
} // namespace octet::kernels

// SPDX-License-Identifier: Apache-2.0
// The cells of LSTM, GRU and RNN on every instruction set against the scalar ones, bit by bit, at
// every size around a vector, with numbers that are none among them.
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/kernel_test.h"
#include "runtime/kernels/recur.h"

namespace octet::kernels {
namespace {

using octet::test::covered_isas;
using octet::test::Guarded;
using CellKind = numerics::CellFunction::Kind;

/// What a cell reads and writes.
struct Memory {
  Guarded<float> sums, h, c, other, peepholes;

  Memory(int64_t hidden, std::mt19937& random)
      : sums(4 * hidden, 1), h(hidden, 1), c(hidden, 3), other(hidden, 1), peepholes(3 * hidden) {
    std::normal_distribution<float> normal(0.0F, 3.0F);
    constexpr float kOdd[] = {0.0F, -0.0F, std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()};
    for (Guarded<float>* part : {&sums, &h, &c, &other, &peepholes}) {
      for (int64_t i = 0; i < part->size(); ++i) {
        (*part)[i] = random() % 24 == 0 ? kOdd[random() % 5] : normal(random);
      }
    }
  }

  CellArgs args(const numerics::CellRules& rules, int64_t hidden, bool with_peepholes) {
    return {.rules = &rules,
            .hidden = hidden,
            .sums = sums.data(),
            .h = h.data(),
            .c = c.data(),
            .peepholes = with_peepholes ? peepholes.data() : nullptr,
            .other = other.data()};
  }
};

void expect_same(const Guarded<float>& got, const Guarded<float>& want) {
  ASSERT_TRUE(got.guards_intact());
  for (int64_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(want[i])) continue;
    ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(want[i])) << "at " << i;
  }
}

void check(void (*CellKernels::*cell)(const CellArgs&),
           const numerics::CellRules& rules,
           bool with_peepholes) {
  std::mt19937 random(7);
  for (const Isa isa : covered_isas("recur")) {
    for (int64_t hidden = 0; hidden <= 50; ++hidden) {
      SCOPED_TRACE(std::string(isa_name(isa)) + " hidden " + std::to_string(hidden));
      Memory got(hidden, random);
      Memory want = got;
      (cell_kernels(isa).*cell)(got.args(rules, hidden, with_peepholes));
      (cell_kernels(Isa::kScalar).*cell)(want.args(rules, hidden, with_peepholes));
      expect_same(got.sums, want.sums);
      expect_same(got.h, want.h);
      expect_same(got.c, want.c);
      expect_same(got.other, want.other);
    }
  }
}

TEST(Recur, CellsAreTheScalarOnes) {
  numerics::CellRules usual;
  usual.g.kind = usual.h.kind = CellKind::kTanh;
  numerics::CellRules rare;
  rare.f = {CellKind::kHardSigmoid, 0.2F, 0.5F};
  rare.g.kind = CellKind::kRelu;
  rare.h.kind = CellKind::kSigmoid;
  rare.clip = 1.5F;
  rare.coupled = true;
  for (const numerics::CellRules& rules : {usual, rare}) {
    check(&CellKernels::lstm, rules, false);
    check(&CellKernels::lstm, rules, true);
    check(&CellKernels::rnn, rules, false);
    check(&CellKernels::gru_reset, rules, false);
    check(&CellKernels::gru, rules, false);
    check(&CellKernels::gru_linear, rules, false);
  }
}

} // namespace
} // namespace octet::kernels

// SPDX-License-Identifier: Apache-2.0
// Dim: algebra against evaluation at random points, printing and parsing back, limits.
#include <limits>
#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "octet/dim.h"

namespace octet {
namespace {

const std::vector<std::string> kNames = {"N", "seq", "batch size", "a.b_1", "\"q\\", "?", "2x"};

Dim random_dim(std::mt19937& random, int depth) {
  if (depth == 0 || random() % 4 == 0) {
    if (random() % 2 == 0) return Dim(static_cast<int64_t>(random() % 21) - 10);
    return Dim::symbol(kNames[random() % kNames.size()]);
  }
  const Dim a = random_dim(random, depth - 1);
  const Dim b = random_dim(random, depth - 1);
  switch (random() % 4) {
  case 0:
    return a + b;
  case 1:
    return a - b;
  case 2: {
    const Dim quotient = floor_divide(a, static_cast<int64_t>(random() % 6) + 1);
    return quotient.is_known() ? quotient : a; // unknown where its text grows too long
  }
  default:
    return a * b;
  }
}

std::map<std::string, int64_t> random_point(std::mt19937& random) {
  std::map<std::string, int64_t> point;
  for (const std::string& name : kNames)
    point[name] = static_cast<int64_t>(random() % 9) - 2;
  return point;
}

TEST(Dim, AlgebraAgreesWithEvaluation) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const Dim a = random_dim(random, 3);
    const Dim b = random_dim(random, 2);
    const auto point = random_point(random);
    const int64_t x = a.evaluate(point).value();
    const int64_t y = b.evaluate(point).value();
    EXPECT_EQ((a + b).evaluate(point).value(), x + y);
    EXPECT_EQ((a - b).evaluate(point).value(), x - y);
    EXPECT_EQ((a * b).evaluate(point).value(), x * y);
    EXPECT_EQ(a * b, b * a);
    EXPECT_EQ(a + b - b, a);
    EXPECT_EQ(a * (b + Dim(3)), a * b + a * Dim(3));
    if (!(b == Dim(0))) {
      EXPECT_EQ(a * b / b, a) << a.text() << " times " << b.text();
    }
  }
}

int64_t floor_of(int64_t a, int64_t b) {
  int64_t q = a / b;
  while (q * b > a)
    --q;
  return q;
}

TEST(Dim, QuotientsAgreeWithEvaluation) {
  std::mt19937 random(23);
  int known = 0;
  for (int round = 0; round < 3000; ++round) {
    const Dim a = random_dim(random, 3);
    const auto point = random_point(random);
    const int64_t n = static_cast<int64_t>(random() % 7) + 1,
                  m = static_cast<int64_t>(random() % 4) + 1;
    const Dim y = floor_divide(a, n);
    if (!y.is_known()) continue;
    ++known;
    EXPECT_EQ(y.evaluate(point).value(), floor_of(a.evaluate(point).value(), n)) << y.text();
    EXPECT_EQ(floor_divide(a + Dim(n) * Dim::symbol("N"), n), y + Dim::symbol("N"));
    EXPECT_EQ(floor_divide(a * Dim(m), n * m), y);
    const Dim twice = floor_divide(y, m);
    if (twice.is_known() && a.text().find("floor") == std::string::npos) {
      EXPECT_EQ(twice, floor_divide(a, n * m)) << a.text();
    }
    if (y.is_never_negative()) {
      EXPECT_GE(floor_of(a.evaluate({{"N", 0},
                                     {"seq", 1},
                                     {"batch size", 0},
                                     {"a.b_1", 2},
                                     {"\"q\\", 0},
                                     {"?", 3},
                                     {"2x", 0}})
                             .value(),
                         n),
                0);
    }
  }
  EXPECT_GT(known, 2000);
}

TEST(Dim, QuotientsHaveOneForm) {
  const Dim h = Dim::symbol("H");
  const Dim half = floor_divide(h + Dim(1), 2);
  EXPECT_EQ(half.text(), "floor((H + 1)/2)");
  EXPECT_EQ(floor_divide(h - Dim(1), 2) + Dim(1), half); // a kernel of 3 with pads of 1
  EXPECT_EQ(floor_divide(half - Dim(1), 2) + Dim(1), floor_divide(h + Dim(3), 4));
  EXPECT_EQ(floor_divide(h * Dim(2) + Dim(3), 4), half);
  EXPECT_EQ(floor_divide(h * Dim(4) + Dim(3), 4), h);
  EXPECT_EQ(floor_divide(h, 2).text(), "floor(H/2)");
  EXPECT_EQ(floor_divide(h * Dim(3), 2).text(), "H + floor(H/2)");
  EXPECT_FALSE(half == floor_divide(h, 2));
  EXPECT_FALSE(Dim::symbol("floor((H + 1)/2)") == half);
  EXPECT_FALSE(half.symbol_name().has_value());
  EXPECT_FALSE(floor_divide(h, 0).is_known());
  EXPECT_EQ((half * half - half * half), Dim(0));
  EXPECT_TRUE(half.is_never_negative());
  EXPECT_FALSE(floor_divide(h - Dim(1), 2).is_never_negative());
  const auto lowest = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(floor_divide(Dim(lowest), 3).value(), lowest / 3 - 1);
}

TEST(Dim, ReadsQuotients) {
  const Dim h = Dim::symbol("H");
  EXPECT_EQ(Dim::parse("floor(H*2/4)").value(), floor_divide(h, 2));
  EXPECT_EQ(Dim::parse("2 * floor( (H - 1) / 2 ) + 2").value(),
            floor_divide(h + Dim(1), 2) * Dim(2));
  EXPECT_EQ(Dim::parse("floor").value(), Dim::symbol("floor"));
  for (const char* bad : {"floor(", "floor(H", "floor(H)", "floor(H/", "floor(H/2", "floor(H/N)",
                          "floor((H/2)", "floor(H + 1/2)", "floor(H/0)", "floor(H/-2)"}) {
    EXPECT_FALSE(Dim::parse(bad).ok()) << bad;
  }
  std::string deep = "H";
  for (int i = 0; i < 300; ++i)
    deep = "floor(3*" + deep + "/7)";
  EXPECT_FALSE(Dim::parse(deep).ok());
}

TEST(Dim, TextParsesBack) {
  std::mt19937 random(11);
  for (int round = 0; round < 3000; ++round) {
    const Dim dim = random_dim(random, 3);
    const Result<Dim> back = Dim::parse(dim.text());
    ASSERT_TRUE(back.ok()) << back.error().text();
    EXPECT_EQ(*back, dim) << dim.text();
    EXPECT_EQ(back->text(), dim.text());
  }
  const Dim lowest(std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Dim::parse(lowest.text()).value(), lowest);
}

TEST(Dim, PrintsWhatPeopleWrite) {
  EXPECT_EQ((Dim::symbol("batch") * Dim(12)).text(), "batch*12");
  EXPECT_EQ((Dim::symbol("seq") + Dim(2)).text(), "seq + 2");
  EXPECT_EQ((Dim(1) - Dim::symbol("N")).text(), "-N + 1");
  EXPECT_EQ(Dim(0).text(), "0");
  EXPECT_EQ(Dim().text(), "?");
  EXPECT_EQ(Dim::symbol("batch size").text(), "\"batch size\"");
  EXPECT_EQ(Dim::parse("12 *batch").value(), Dim::symbol("batch") * Dim(12));
  EXPECT_EQ(Dim::parse("N*M - 2*N*M").value(), Dim(0) - Dim::symbol("M") * Dim::symbol("N"));
  EXPECT_FALSE(Dim::parse("?").value().is_known());
  EXPECT_EQ(Dim::symbol("N").symbol_name(), "N");
  EXPECT_EQ((Dim::symbol("N") + Dim(1)).symbol_name(), std::nullopt);
}

TEST(Dim, DivisionIsExactOrUnknown) {
  const Dim n = Dim::symbol("N");
  const Dim m = Dim::symbol("M");
  EXPECT_EQ(n * Dim(12) / Dim(4), n * Dim(3));
  EXPECT_FALSE((n / Dim(2)).is_known());
  EXPECT_FALSE(((n + Dim(1)) / n).is_known());
  EXPECT_FALSE((n / Dim(0)).is_known());
  EXPECT_EQ((n * n - m * m) / (n + m), n - m);
  EXPECT_EQ(Dim(0) / n, Dim(0));
  EXPECT_FALSE((Dim(std::numeric_limits<int64_t>::min()) / Dim(-1)).is_known());
}

TEST(Dim, UnknownEqualsNothing) {
  EXPECT_FALSE(Dim() == Dim());
  EXPECT_FALSE((Dim() + Dim(1)).is_known());
  EXPECT_FALSE((Dim() * Dim(0)).is_known());
  EXPECT_FALSE(Dim().evaluate({}).ok());
}

TEST(Dim, WhatDoesNotFitIsUnknown) {
  const Dim top(std::numeric_limits<int64_t>::max());
  EXPECT_FALSE((top + Dim(1)).is_known());
  EXPECT_FALSE((top * Dim::symbol("N") * Dim(2)).is_known());
  Dim power = Dim::symbol("N");
  for (int i = 0; i < 20; ++i)
    power = power * Dim::symbol("N");
  EXPECT_FALSE(power.is_known());
  const Dim big = Dim::symbol("N") * top;
  EXPECT_FALSE(big.evaluate({{"N", 3}}).ok());
}

TEST(Dim, ParseErrorsNameTheText) {
  for (const char* text : {"", "N +", "N N", "*2", "\"open", "\"\"", "2 ** 3", "N/2", "? + 1",
                           "99999999999999999999", "9223372036854775808", "--1"}) {
    const Result<Dim> dim = Dim::parse(text);
    ASSERT_FALSE(dim.ok()) << text;
    EXPECT_NE(dim.error().text().find(text), std::string::npos) << dim.error().text();
  }
  EXPECT_FALSE(Dim::parse(std::string(5000, '1')).ok());
  const Error missing = Dim::symbol("seq").evaluate({{"N", 1}}).error();
  EXPECT_NE(missing.text().find("\"seq\""), std::string::npos);
}

} // namespace
} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// octet.native Map: programs as text, what is refused, and the operator over tensors.
#include <cmath>

#include "core/numerics/program.h"
#include "core/philox.h"
#include "ops/op_runner.h"

namespace octet::test {
namespace {

using numerics::parse_program;
using numerics::program_text;

TEST(Program, ReadsWhatItWrites) {
  const std::vector<float> constants = {0.5F, 2.0F};
  const std::string text = "fma x0 c0 x1; clamp t0 c0 c1; select t1 x1 t0";
  const auto program = parse_program(text, constants, 2);
  ASSERT_TRUE(program.ok()) << program.error().text();
  EXPECT_EQ(program_text(*program), text);
  EXPECT_EQ(program->eval(std::vector<float>{2.0F, 0.75F}), 0.75F);
}

TEST(Program, SaysWhatDoesNotFit) {
  const auto why = [](const std::string& text, size_t inputs = 2, size_t constants = 1) {
    const auto program = parse_program(text, std::vector<float>(constants, 1.0F), inputs);
    EXPECT_FALSE(program.ok()) << text;
    return program.ok() ? std::string() : program.error().text();
  };
  EXPECT_NE(why("").find("empty"), std::string::npos);
  EXPECT_NE(why("add x0 x1;").find("instruction 1"), std::string::npos);
  EXPECT_NE(why("sigmoidd x0").find("did you mean \"sigmoid\""), std::string::npos);
  EXPECT_NE(why("add x0").find("add takes 2"), std::string::npos);
  EXPECT_NE(why("add x0 x2").find("there are 2 inputs"), std::string::npos);
  EXPECT_NE(why("add x0 c1").find("there are 1 constants"), std::string::npos);
  EXPECT_NE(why("neg t0").find("there are 0 results before it"), std::string::npos);
  EXPECT_NE(why("neg y0").find("write x0"), std::string::npos);
  EXPECT_NE(why("neg x").find("write x0"), std::string::npos);
  EXPECT_NE(why("neg x99999999999999999999").find("write x0"), std::string::npos);
  EXPECT_NE(why("neg x-1").find("write x0"), std::string::npos);
  EXPECT_NE(why("neg x0", 7).find("up to 6"), std::string::npos);
  EXPECT_NE(why("neg x0", 1, 25).find("up to 24"), std::string::npos);
  std::string longest = "neg x0";
  for (int i = 0; i < 23; ++i)
    longest += ";neg x0";
  EXPECT_TRUE(parse_program(longest, {}, 1).ok());
  EXPECT_NE(why(longest + ";neg x0").find("25 instructions"), std::string::npos);
}

TEST(Program, RandomTextNeverCrashes) {
  Philox random(3);
  constexpr std::string_view kParts[] = {"add", "x0", "c0",  "t0", ";", " ", "fma", "x",
                                         "t1",  "9",  "neg", "\n", "-", "",  "t255"};
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (int64_t k = random.below(12); k >= 0; --k) {
      text += kParts[random.below(std::size(kParts))];
      if (random.below(2) == 0) text += " ";
    }
    const auto program = parse_program(text, std::vector<float>{1.0F}, 1);
    if (program.ok()) program->eval(std::vector<float>{2.0F});
  }
}

Result<std::vector<Tensor>>
run_map(const std::string& program, std::vector<float> constants, std::vector<Tensor> inputs) {
  return run_op(kNative, "Map",
                {{"program", attribute(program)}, {"constants", attribute(std::move(constants))}},
                std::move(inputs), 1);
}

TEST(Map, BroadcastsItsInputs) {
  const Tensor a = Tensor::of<float>({2, 1}, {1, 2}), b = Tensor::of<float>({3}, {10, 20, 30});
  const Tensor y = first(run_map("mul x0 x1; add t0 c0", {0.5F}, {a, b}));
  EXPECT_TRUE(y.identical(Tensor::of<float>({2, 3}, {10.5, 20.5, 30.5, 20.5, 40.5, 60.5})));
}

TEST(Map, RefusesWhatItCannotRun) {
  const Tensor a = Tensor::of<float>({2}, {1, 2}), b = Tensor::of<float>({3}, {1, 2, 3});
  EXPECT_FALSE(run_map("add x0 x1", {}, {a, b}).ok());
  EXPECT_FALSE(run_map("add x0 x1", {}, {a}).ok());
  EXPECT_FALSE(run_map("neg x0", {}, {}).ok());
  EXPECT_FALSE(run_map("neg x0", {}, {Tensor::of<int64_t>({1}, {1})}).ok());
  EXPECT_FALSE(run_map("neg x0", {}, std::vector<Tensor>(7, a)).ok());
  EXPECT_FALSE(run_op(kNative, "Map", {}, {a}, 1).ok());
  EXPECT_FALSE(run_op(kNative, "Map", {{"program", attribute(int64_t{3})}}, {a}, 1).ok());
}

Result<std::vector<Tensor>> run_qmap(const Attributes& more, std::vector<Tensor> inputs) {
  Attributes attributes = {{"program", attribute(std::string("add x0 x1"))},
                           {"scales", attribute(std::vector<float>{0.5F, 1.0F})},
                           {"zero_points", attribute(std::vector<int64_t>{-2, 0})}};
  for (const auto& [key, value] : more)
    attributes.insert_or_assign(key, value);
  return run_op(kNative, "QMap", attributes, std::move(inputs), 1);
}

TEST(QMap, ReadsAndWritesCodes) {
  const Tensor a = Tensor::of<int8_t>({3}, {-2, 0, 100});
  const Tensor b = Tensor::of<float>({}, {0.5F});
  EXPECT_TRUE(first(run_qmap({}, {a, b})).identical(Tensor::of<float>({3}, {0.5F, 1.5F, 51.5F})));
  const Attributes to_codes = {{"to", attribute(int64_t{2})},
                               {"scale", attribute(1.0F)},
                               {"zero_point", attribute(int64_t{1})},
                               {"hi", attribute(int64_t{50})}};
  // 0.5 and 1.5 lie between two codes: the even one before the zero point.
  EXPECT_TRUE(first(run_qmap(to_codes, {a, b})).identical(Tensor::of<uint8_t>({3}, {1, 3, 50})));
}

TEST(QMap, RefusesWhatItCannotRun) {
  const Tensor a = Tensor::of<int8_t>({2}, {1, 2}), b = Tensor::of<float>({2}, {1, 2});
  EXPECT_TRUE(run_qmap({}, {a, b}).ok());
  EXPECT_FALSE(run_qmap({{"scales", attribute(std::vector<float>{1.0F})}}, {a, b}).ok());
  EXPECT_FALSE(run_qmap({{"zero_points", attribute(std::vector<int64_t>{0})}}, {a, b}).ok());
  EXPECT_FALSE(run_qmap({{"zero_points", attribute(std::vector<int64_t>{200, 0})}}, {a, b}).ok());
  EXPECT_FALSE(run_qmap({{"to", attribute(int64_t{7})}}, {a, b}).ok());
  EXPECT_FALSE(
      run_qmap({{"to", attribute(int64_t{3})}, {"lo", attribute(int64_t{-129})}}, {a, b}).ok());
  EXPECT_FALSE(run_qmap({{"to", attribute(int64_t{3})},
                         {"lo", attribute(int64_t{5})},
                         {"hi", attribute(int64_t{4})}},
                        {a, b})
                   .ok());
  EXPECT_FALSE(run_qmap({}, {Tensor::of<int64_t>({2}, {1, 2}), b}).ok());
}

} // namespace
} // namespace octet::test

// SPDX-License-Identifier: Apache-2.0
// ConvInteger and MatMulInteger with zero points that are known when they run, and weights of any
// zero point: kernels on every instruction set give the sums of the ONNX operators. Products that
// scale such sums: the bits of the lowered graph. Sizes N and S are open.
#include "core/cpu.h"
#include "core/philox.h"
#include "passes/lower/lower.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"
#include "octet/session.h"

namespace octet {
namespace {

struct IntegerForm {
  const char* name;
  std::string text;
};

std::string codes(const std::string& name, const char* type, const Shape& shape, uint64_t seed) {
  Philox random(seed);
  std::string sizes, values;
  int64_t count = 1;
  for (const int64_t d : shape) {
    count *= d;
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(d);
  }
  const int64_t least = type[0] == 'u' ? 0 : -128;
  for (int64_t i = 0; i < count; ++i)
    values += (i == 0 ? "" : ", ") +
              std::to_string(least + static_cast<int64_t>(random.uniform(0, 255.99)));
  return "const " + name + ": " + type + "[" + sizes + "] = [" + values + "]\n";
}

std::string conv(const char* x,
                 const Shape& w,
                 const char* w_type,
                 const char* zero,
                 const std::string& attributes) {
  const int64_t group = attributes.find("group=2") != std::string::npos   ? 2
                        : attributes.find("group=6") != std::string::npos ? 6
                                                                          : 1;
  const std::string channels = std::to_string(w[1] * group);
  std::string text = std::string("input x: ") + x + "[N, " + channels + ", S, 9]\ninput z: " + x +
                     "[]\n" + codes("w", w_type, w, 3);
  if (*zero != 0) text += std::string("const v: ") + w_type + zero + "\n";
  return text + "y = ConvInteger(x, w, z" + (*zero != 0 ? ", v" : "") + ") {" + attributes +
         "}\noutput y: i32[*]";
}

std::vector<IntegerForm> integer_forms() {
  return {
      {"Conv", conv("u8", {7, 3, 3, 3}, "i8", "", "pads=[1, 1, 1, 1]")},
      {"ConvSigned",
       conv("i8", {20, 5, 3, 2}, "i8", "[] = [0]", "strides=[2, 1], pads=[0, 1, 2, 0]")},
      {"ConvAroundTheMiddle", conv("u8", {16, 8, 1, 1}, "u8", "[] = [128]", "")},
      {"ConvFarFromTheMiddle", conv("u8", {5, 3, 3, 3}, "u8", "[] = [201]", "pads=[1, 1, 1, 1]")},
      {"ConvSignedFar", conv("i8", {16, 4, 2, 3}, "u8", "[] = [3]", "dilations=[1, 2]")},
      {"ConvZeroOfEach",
       conv("u8", {3, 4, 3, 3}, "u8", "[3] = [0, 128, 255]", "auto_pad=\"SAME_UPPER\"")},
      {"ConvGroups", conv("u8", {6, 2, 3, 3}, "i8", "", "group=2, pads=[1, 1, 1, 1]")},
      {"ConvGroupsFar", conv("u8", {6, 2, 3, 3}, "u8", "[] = [90]", "group=2")},
      {"ConvDepthwise",
       conv("u8", {6, 1, 3, 3}, "i8", "", "group=6, pads=[1, 1, 1, 1], strides=[2, 2]")},
      {"ConvDepthwiseMiddle",
       conv("i8", {6, 1, 5, 5}, "u8", "[] = [128]", "group=6, pads=[2, 2, 2, 2]")},
      {"ConvLine", "input x: i8[N, 3, S]\ninput z: i8[]\n" + codes("w", "i8", {7, 3, 3}, 3) +
                       "y = ConvInteger(x, w, z) {pads=[1, 1], strides=[2]}\noutput y: i32[*]"},
      {"ConvLineFar", "input x: u8[N, 4, S]\ninput z: u8[]\n" + codes("w", "u8", {5, 4, 2}, 3) +
                          "const v: u8[] = [201]\ny = ConvInteger(x, w, z, v) {dilations=[2]}\n"
                          "output y: i32[*]"},
      {"MatMulFar", "input x: u8[N, S, 9]\ninput z: u8[]\n" + codes("w", "u8", {9, 20}, 4) +
                        "const v: u8[] = [199]\ny = MatMulInteger(x, w, z, v)\noutput y: i32[*]"},
      {"MatMulSignedZeroOfEach",
       "input x: i8[S, 33]\ninput z: i8[]\n" + codes("w", "u8", {33, 3}, 5) +
           "const v: u8[3] = [1, 128, 255]\ny = MatMulInteger(x, w, z, v)\noutput y: i32[*]"},
  };
}

class IntegerProducts : public ::testing::TestWithParam<IntegerForm> {};

TEST_P(IntegerProducts, KernelsGiveTheSumsOfTheOperators) {
  const auto model = parse_graph("graph g opset(\"\"=12)\n" + GetParam().text + "\n");
  ASSERT_TRUE(model.ok()) << model.error().text();
  const auto literal = make_reference_executor(*model).value();
  const bool may_stay = std::string_view(GetParam().name) == "ConvGroupsFar";
  Philox random(7);
  for (const auto& [n, s, threads] : {std::tuple{1, 3, 1}, {2, 16, 2}, {3, 40, 1}}) {
    std::vector<Tensor> inputs;
    for (const ValueId id : model->inputs()) {
      const TypeInfo& type = model->value(id).type;
      Shape shape;
      for (const Dim& d : *type.shape)
        shape.push_back(d.is_constant() ? d.value() : d.symbol_name() == "N" ? n : s);
      std::vector<double> values(static_cast<size_t>(element_count(shape).value()));
      const double least = type.type == DType::kInt8 ? -128 : 0;
      for (double& v : values)
        v = least + static_cast<double>(static_cast<int64_t>(random.uniform(0, 255.99)));
      inputs.push_back(Tensor::from_doubles(type.type, shape, values).value());
    }
    const auto want = literal->run(inputs);
    ASSERT_TRUE(want.ok()) << want.error().text();
    for (const Isa isa : known_isas()) {
      if (!isa_supported(isa)) continue;
      auto session = Session::create(
          *model, {.threads = threads, .isa = std::string(isa_name(isa)), .lower = true});
      ASSERT_TRUE(session.ok()) << session.error().text();
      for (const PlannedNode& node : session->plan())
        EXPECT_TRUE(node.kernel != "reference" || may_stay) << node.node << ": " << node.why;
      const auto got = session->run(inputs);
      ASSERT_TRUE(got.ok()) << got.error().text();
      EXPECT_EQ((*got)[0].shape(), (*want)[0].shape());
      EXPECT_TRUE((*got)[0].identical((*want)[0])) << isa_name(isa) << " n " << n << " s " << s;
    }
  }
}

/// Codes with zero points that int8 does not hold codes around, behind DQ or in the operators that
/// scale their sums.
std::vector<IntegerForm> scaled_forms() {
  const std::string scale_of_each = "const ws: f32[20] = [" + [] {
    std::string values;
    for (int i = 0; i < 20; ++i)
      values += (i == 0 ? "0.0" : ", 0.0") + std::to_string(11 + i);
    return values;
  }() + "]\n";
  std::string zero_of_each = "const wz: u8[20] = [";
  for (int i = 0; i < 20; ++i)
    zero_of_each += (i == 0 ? "" : ", ") + std::to_string(10 + 12 * i);
  zero_of_each += "]\n";
  const std::string one = "const ws: f32[] = [0.02]\nconst wz: u8[] = [99]\n";
  const std::string grid = "const xs: f32[] = [0.03]\nconst xz: u8[] = [120]\n";
  const std::string quantized =
      "input x: f32[N, S, 33]\n" + grid +
      "xq = QuantizeLinear(x, xs, xz)\nxd = DequantizeLinear(xq, xs, xz)\n";
  const std::string w = codes("w", "u8", {33, 20}, 4);
  const std::string out = "const ys: f32[] = [0.4]\nyq = QuantizeLinear(t, ys, xz)\n"
                          "y = DequantizeLinear(yq, ys, xz)\noutput y: f32[*]";
  return {
      {"DequantizedToCodes",
       quantized + w + one + "wd = DequantizeLinear(w, ws, wz)\nt = MatMul(xd, wd)\n" + out},
      {"DequantizedToFloats", quantized + w + one +
                                  "wd = DequantizeLinear(w, ws, wz)\ny = MatMul(xd, wd)\n"
                                  "output y: f32[*]"},
      {"ZeroOfEach", quantized + w + scale_of_each + zero_of_each +
                         "wd = DequantizeLinear(w, ws, wz) {axis=1}\nt = MatMul(xd, wd)\n" + out},
      {"SeveralMatrices", quantized + codes("w", "u8", {3, 1, 33, 20}, 4) + one +
                              "wd = DequantizeLinear(w, ws, wz)\nt = MatMul(xd, wd)\n" + out},
      {"SeveralMatricesToFloats", quantized + codes("w", "u8", {1, 33, 20}, 4) + one +
                                      "wd = DequantizeLinear(w, ws, wz)\ny = MatMul(xd, wd)\n"
                                      "output y: f32[*]"},
      {"ConstantOnTheLeft",
       quantized + codes("w", "u8", {20, 33}, 4) + one +
           "wd = DequantizeLinear(w, ws, wz)\nxt = Transpose(xd) {perm=[0, 2, 1]}\n"
           "t = MatMul(wd, xt)\n" +
           out},
      {"DynamicProduct", "input x: f32[N, S, 33]\n" + w + one +
                             "y = com.microsoft.DynamicQuantizeMatMul(x, w, ws, wz)\n"
                             "output y: f32[*]"},
      {"DynamicProductZeroOfEach",
       "input x: f32[N, S, 33]\n" + w + scale_of_each + zero_of_each + "const b: f32[20] = [" +
           [] {
             std::string values = "0.5";
             for (int i = 1; i < 20; ++i)
               values += ", -0." + std::to_string(i + 10);
             return values;
           }() +
           "]\ny = com.microsoft.DynamicQuantizeMatMul(x, w, ws, wz, b)\noutput y: f32[*]"},
      {"ProductToFloat", "input x: f32[N, S, 33]\n" + w + one +
                             "q, s, z = DynamicQuantizeLinear(x)\n"
                             "y = com.microsoft.MatMulIntegerToFloat(q, w, s, ws, z, wz)\n"
                             "output y: f32[*]"},
      {"ProductToFloatOfSignedCodes",
       "input x: i8[N, S, 33]\ninput s: f32[]\n" + codes("w", "i8", {33, 20}, 6) +
           "const ws: f32[1] = [0.02]\n"
           "y = com.microsoft.MatMulIntegerToFloat(x, w, s, ws)\noutput y: f32[*]"},
      {"Chain", "input x: f32[N, S, 33]\n" + w + one +
                    "q, s, z = DynamicQuantizeLinear(x)\nsums = MatMulInteger(q, w, z, wz)\n"
                    "f = Cast(sums) {to=1}\nsw = Mul(s, ws)\ny = Mul(f, sw)\noutput y: f32[*]"},
  };
}

class ScaledProducts : public ::testing::TestWithParam<IntegerForm> {};

TEST_P(ScaledProducts, KernelsHaveTheBitsOfTheLoweredGraphNearTheFile) {
  const auto model =
      parse_graph("graph g opset(\"\"=17, \"com.microsoft\"=1)\n" + GetParam().text + "\n");
  ASSERT_TRUE(model.ok()) << model.error().text();
  const auto lowered = lower(*model);
  ASSERT_TRUE(lowered.ok()) << lowered.error().text();
  const auto literal = make_reference_executor(*model).value();
  const auto exact = make_reference_executor(lowered->graph).value();
  const bool to_codes = GetParam().text.find("yq") != std::string::npos;
  Philox random(7);
  for (const auto& [n, s, threads] : {std::tuple{1, 3, 1}, {2, 16, 2}, {3, 40, 1}, {2, 0, 1}}) {
    std::vector<Tensor> inputs;
    for (const ValueId id : model->inputs()) {
      const TypeInfo& type = model->value(id).type;
      Shape shape;
      for (const Dim& d : *type.shape)
        shape.push_back(d.is_constant() ? d.value() : d.symbol_name() == "N" ? n : s);
      std::vector<double> values(static_cast<size_t>(element_count(shape).value()));
      for (double& v : values)
        v = type.type == DType::kInt8 ? static_cast<int>(random.uniform(-128, 127.99))
                                      : random.uniform(-3, 3);
      inputs.push_back(Tensor::from_doubles(type.type, shape, values).value());
    }
    const auto near = literal->run(inputs), want = exact->run(inputs);
    ASSERT_TRUE(near.ok()) << near.error().text();
    ASSERT_TRUE(want.ok()) << want.error().text();
    for (int64_t i = 0; i < (*want)[0].count(); ++i)
      ASSERT_NEAR((*want)[0].at(i), (*near)[0].at(i), to_codes ? 0.41 : 1e-3);
    for (const Isa isa : known_isas()) {
      if (!isa_supported(isa)) continue;
      auto session = Session::create(
          *model, {.threads = threads, .isa = std::string(isa_name(isa)), .lower = true});
      ASSERT_TRUE(session.ok()) << session.error().text();
      for (const PlannedNode& node : session->plan()) {
        EXPECT_NE(node.kernel, "reference") << node.node << ": " << node.why;
        EXPECT_EQ(node.kernel.find("sgemm"), std::string::npos) << node.node;
      }
      const auto got = session->run(inputs);
      ASSERT_TRUE(got.ok()) << got.error().text();
      EXPECT_TRUE((*got)[0].identical((*want)[0])) << isa_name(isa) << " n " << n << " s " << s;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms,
                         ScaledProducts,
                         ::testing::ValuesIn(scaled_forms()),
                         [](const auto& test) { return test.param.name; });

INSTANTIATE_TEST_SUITE_P(Forms,
                         IntegerProducts,
                         ::testing::ValuesIn(integer_forms()),
                         [](const auto& test) { return test.param.name; });

} // namespace
} // namespace octet

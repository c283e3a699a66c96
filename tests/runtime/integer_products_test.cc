// SPDX-License-Identifier: Apache-2.0
// ConvInteger and MatMulInteger with zero points that are known when they run, and weights of any
// zero point: kernels on every instruction set give the sums of the ONNX operators. Sizes N and S
// are open.
#include "core/cpu.h"
#include "core/philox.h"
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

INSTANTIATE_TEST_SUITE_P(Forms,
                         IntegerProducts,
                         ::testing::ValuesIn(integer_forms()),
                         [](const auto& test) { return test.param.name; });

} // namespace
} // namespace octet

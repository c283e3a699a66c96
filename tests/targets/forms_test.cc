// SPDX-License-Identifier: Apache-2.0
// One Q/DQ graph in every form, in the reference executor and in ONNX Runtime: the codes are equal,
// or off by one where the value lies at a tie, because an operator on codes rounds once and Q/DQ
// rounds the float in between.
#include <cmath>
#include <filesystem>

#include "ops/infer.h"
#include "quant/support.h"
#include "targets/run_onnxruntime.h"
#include <gtest/gtest.h>

#include "octet/export.h"
#include "octet/graph_text.h"
#include "octet/onnx.h"
#include "octet/session.h"
#include "octet/target.h"

namespace octet {
namespace {

using test::nodes_of;
using test::random_tensor;

constexpr FileForm kFileForms[] = {FileForm::kQdq, FileForm::kQcdq, FileForm::kQOperator,
                                   FileForm::kFused};

/// Small graphs over x: f32[2, 3, 8, 8] whose output y is the codes of one operator.
class OneOperator {
 public:
  OneOperator() {
    graph_.name = "form";
    graph_.opsets[""] = 17;
    graph_.info.ir_version = 8;
    x_ = graph_.add_input("x", tensor_type(DType::kFloat32, std::vector<int64_t>{2, 3, 8, 8}));
  }
  ValueId op(const char* type, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return graph_.emit(type, std::move(inputs), std::move(attributes));
  }
  ValueId op(const char* type, std::vector<ValueId> inputs, const char* key, int64_t value) {
    Attributes attributes;
    attributes[key].value = value;
    return op(type, std::move(inputs), std::move(attributes));
  }
  template <class T>
  ValueId scalar(T value) {
    return graph_.add_constant("c", Tensor::scalar<T>(value));
  }
  ValueId floats(Shape shape) {
    return graph_.add_constant("f", random_tensor(std::move(shape), ++seed_));
  }
  ValueId q(ValueId v, float scale, uint8_t zero) {
    return op("QuantizeLinear", {v, scalar(scale), scalar(zero)});
  }
  ValueId pair(ValueId v, float scale, uint8_t zero) {
    return op("DequantizeLinear", {q(v, scale, zero), scalar(scale), scalar(zero)});
  }
  ValueId x() { return pair(x_, 0.0123F, 117); }
  ValueId other_x() { return pair(op("Neg", {x_}), 0.0071F, 128); }
  ValueId matrix() { return pair(op("Flatten", {x_}), 0.0123F, 117); }
  /// int8 codes with a scale for each index of the axis.
  ValueId weight(Shape shape, int64_t axis) {
    const int64_t channels = shape[static_cast<size_t>(axis)];
    const Tensor w = random_tensor(std::move(shape), ++seed_, -127, 127);
    const ValueId codes = graph_.add_constant(
        "w", Tensor::from_doubles(DType::kInt8, w.shape(), w.to_doubles().value()).value());
    const ValueId scales =
        graph_.add_constant("s", random_tensor({channels}, ++seed_, 0.001F, 0.003F));
    const ValueId zeros = graph_.add_constant(
        "z", Tensor::from_doubles(DType::kInt8, {channels},
                                  std::vector<double>(static_cast<size_t>(channels), 0))
                 .value());
    return op("DequantizeLinear", {codes, scales, zeros}, "axis", axis);
  }
  /// y is Q of it; `real` is remembered for the distance to ties.
  Graph done(ValueId real, float scale, uint8_t zero) { return finish(q(real, scale, zero)); }
  Graph finish(ValueId y) {
    graph_.mark_output(y);
    graph_.rename(y, "y");
    EXPECT_TRUE(infer_types(graph_).ok());
    return graph_;
  }

 private:
  Graph graph_;
  ValueId x_;
  uint32_t seed_ = 0;
};

struct FormCase {
  std::string name;
  Graph graph;
  std::string operator_on_codes;
};

std::vector<FormCase> products() {
  std::vector<FormCase> out;
  const auto add = [&](const char* name, const char* op, auto make) {
    OneOperator g;
    out.push_back({name, make(g), op});
  };
  add("conv", "QLinearConv", [](OneOperator& g) {
    return g.done(g.op("Conv", {g.x(), g.weight({4, 3, 3, 3}, 0), g.floats({4})}), 0.013F, 120);
  });
  add("conv_relu", "QLinearConv", [](OneOperator& g) {
    const ValueId y = g.op("Conv", {g.x(), g.weight({4, 3, 3, 3}, 0)});
    return g.done(g.op("Relu", {y}), 0.009F, 0);
  });
  add("conv_clip", "QLinearConv", [](OneOperator& g) {
    const ValueId y = g.op("Conv", {g.x(), g.weight({4, 3, 3, 3}, 0), g.floats({4})});
    return g.done(g.op("Clip", {y, g.scalar(0.0F), g.scalar(1.5F)}), 1.5F / 255, 0);
  });
  add("matmul", "QLinearMatMul", [](OneOperator& g) {
    return g.done(g.op("MatMul", {g.matrix(), g.weight({192, 16}, 1)}), 0.05F, 131);
  });
  add("matmul_float", "MatMulIntegerToFloat", [](OneOperator& g) {
    return g.finish(g.op("MatMul", {g.matrix(), g.weight({192, 16}, 1)}));
  });
  add("matmul_activations", "QLinearMatMul", [](OneOperator& g) {
    return g.done(g.op("MatMul", {g.x(), g.other_x()}), 0.03F, 128);
  });
  add("gemm", "QGemm", [](OneOperator& g) {
    return g.done(g.op("Gemm", {g.matrix(), g.weight({16, 192}, 0), g.floats({16})}, "transB", 1),
                  0.05F, 100);
  });
  add("gemm_float", "QGemm", [](OneOperator& g) {
    return g.finish(g.op("Gemm", {g.matrix(), g.weight({192, 16}, 1), g.floats({16})}));
  });
  return out;
}

std::vector<FormCase> pointwise() {
  std::vector<FormCase> out;
  const auto add = [&](const char* name, const char* op, auto make) {
    OneOperator g;
    out.push_back({name, make(g), op});
  };
  add("add", "QLinearAdd", [](OneOperator& g) {
    return g.done(g.op("Add", {g.x(), g.other_x()}), 0.0151F, 128);
  });
  add("mul", "QLinearMul", [](OneOperator& g) {
    return g.done(g.op("Mul", {g.x(), g.other_x()}), 0.0093F, 200);
  });
  add("average_pool", "QLinearAveragePool", [](OneOperator& g) {
    Attributes kernel;
    kernel["kernel_shape"].value = std::vector<int64_t>{3, 3};
    return g.done(g.op("AveragePool", {g.x()}, kernel), 0.0061F, 128);
  });
  add("global_average_pool", "QLinearGlobalAveragePool",
      [](OneOperator& g) { return g.done(g.op("GlobalAveragePool", {g.x()}), 0.0021F, 128); });
  add("sigmoid", "QLinearSigmoid",
      [](OneOperator& g) { return g.done(g.op("Sigmoid", {g.x()}), 1.0F / 256, 0); });
  add("leaky_relu", "QLinearLeakyRelu",
      [](OneOperator& g) { return g.done(g.op("LeakyRelu", {g.x()}), 0.0077F, 30); });
  add("softmax", "QLinearSoftmax",
      [](OneOperator& g) { return g.done(g.op("Softmax", {g.x()}, "axis", -1), 1.0F / 255, 0); });
  add("concat", "QLinearConcat", [](OneOperator& g) {
    return g.done(g.op("Concat", {g.x(), g.other_x()}, "axis", 1), 0.0123F, 117);
  });
  add("max_pool", "MaxPool", [](OneOperator& g) {
    Attributes kernel;
    kernel["kernel_shape"].value = std::vector<int64_t>{2, 2};
    return g.done(g.op("MaxPool", {g.x()}, kernel), 0.0123F, 117);
  });
  add("transpose", "Transpose", [](OneOperator& g) {
    Attributes perm;
    perm["perm"].value = std::vector<int64_t>{0, 2, 3, 1};
    return g.done(g.op("Transpose", {g.x()}, perm), 0.0123F, 117);
  });
  return out;
}

std::vector<FormCase> cases() {
  std::vector<FormCase> out = products();
  std::vector<FormCase> more = pointwise();
  for (FormCase& c : more)
    out.push_back(std::move(c));
  return out;
}

Tensor form_input() {
  return random_tensor({2, 3, 8, 8}, 77, -1.4F, 1.6F);
}

Graph in_form(const Graph& graph, FileForm form) {
  Graph out = graph;
  const auto notes = convert_form(out, form);
  EXPECT_TRUE(notes.ok()) << notes.error().text();
  return out;
}

std::vector<double> reference(const Graph& graph) {
  return test::run_reference(graph, form_input()).to_doubles().value();
}

/// What Q divides, in units of its scale; empty when y is no Q.
std::vector<double> before_rounding(const Graph& qdq) {
  Graph g = qdq;
  const Node& q = *g.producer(g.outputs()[0]);
  if (!q.is("QuantizeLinear")) return {};
  const double scale = g.constant(q.input(1))->at(0);
  g.set_outputs({q.input(0)});
  std::vector<double> out = reference(g);
  for (double& v : out)
    v /= scale;
  return out;
}

/// Codes that differ must differ by one, at a tie; floats by rounding.
void expect_same(const std::vector<double>& a,
                 const std::vector<double>& b,
                 const std::vector<double>& exact,
                 double tie) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (exact.empty()) {
      EXPECT_NEAR(a[i], b[i], 1e-4 * (1 + std::abs(a[i]))) << "element " << i;
    } else if (a[i] != b[i]) {
      EXPECT_EQ(std::abs(a[i] - b[i]), 1) << "element " << i;
      EXPECT_NEAR(std::abs(exact[i] - std::floor(exact[i])), 0.5, tie) << "element " << i;
    }
  }
}

/// A bias as int32 is up to half a step of s_x * s_w from the float one.
double bias_step(const FormCase& c) {
  return c.name == "conv" || c.name == "gemm" || c.name == "conv_clip" ? 0.01 : 0;
}

TEST(Forms, EveryOperatorOnCodesGivesTheSameCodes) {
  const std::vector<FormCase> all = cases();
  for (const FormCase& c : all) {
    SCOPED_TRACE(c.name);
    const auto want = reference(c.graph);
    const auto exact = before_rounding(c.graph);
    const Graph converted = in_form(c.graph, FileForm::kQOperator);
    EXPECT_EQ(nodes_of(converted, c.operator_on_codes).size(), 1U);
    expect_same(want, reference(converted), exact, 1e-4 + bias_step(c));
    const Graph clipped = in_form(c.graph, FileForm::kQcdq);
    EXPECT_FALSE(nodes_of(clipped, "Clip").empty());
    EXPECT_EQ(reference(clipped), want);
  }
}

TEST(Forms, OctetComputesThemByItsOwnKernels) {
  const std::vector<FormCase> all = cases();
  for (const FormCase& c : all) {
    SCOPED_TRACE(c.name);
    const Graph converted = in_form(c.graph, FileForm::kQOperator);
    auto session = Session::create(converted, {.keep_weights = true});
    ASSERT_TRUE(session.ok()) << session.error().text();
    for (const PlannedNode& node : session->plan())
      EXPECT_NE(node.kernel, "reference") << node.node << ": " << node.why;
    const std::vector<Tensor> input = {form_input()};
    const Tensor got = session->run(input).value()[0];
    EXPECT_TRUE(got.identical(test::run_reference(session->lowered(), form_input())));
    expect_same(reference(converted), got.to_doubles().value(), before_rounding(c.graph),
                1e-4 + bias_step(c));
    const auto layers = explain(converted, "octet");
    ASSERT_TRUE(layers.ok()) << layers.error().text();
    for (const LayerForm& layer : *layers)
      EXPECT_TRUE(layer.work == 0 || layer.precision == LayerPrecision::kInt8)
          << layer.op << ": " << layer.form;
  }
}

TEST(Forms, OnnxRuntimeComputesThemAlike) {
  const std::string folder = ::testing::TempDir() + "octet_forms";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_tensor_proto({"x", form_input()}, folder + "/x.pb").ok());
  const std::vector<FormCase> all = cases();
  for (const FormCase& c : all)
    for (const FileForm form : kFileForms)
      ASSERT_TRUE(save_onnx(in_form(c.graph, form),
                            folder + "/" + c.name + "." + std::string(name(form)) + ".onnx")
                      .ok());
  const nlohmann::json results = test::run_onnxruntime(folder);
  ASSERT_TRUE(results.is_object());
  for (const FormCase& c : all)
    for (const FileForm form : kFileForms) {
      SCOPED_TRACE(c.name + " as " + std::string(name(form)));
      const nlohmann::json& result = results.at(c.name + "." + std::string(name(form)));
      ASSERT_FALSE(result.contains("error")) << result.value("error", "");
      // Its kernels multiply by float reciprocals. Its QLinearSoftmax, which it makes of Q/DQ too,
      // cuts digits off where it should round.
      const double tie = c.name == "softmax" ? 0.5 : 5e-3 + bias_step(c);
      expect_same(reference(c.graph), result.at("output").get<std::vector<double>>(),
                  before_rounding(c.graph), tie);
    }
  std::filesystem::remove_all(folder);
}

/// A layer of a transformer over x: f32[2, 4, 8].
Graph block() {
  Graph g;
  g.name = "block";
  g.opsets[""] = 20;
  g.info.ir_version = 9;
  const ValueId x = g.add_input("x", tensor_type(DType::kFloat32, std::vector<int64_t>{2, 4, 8}));
  uint32_t seed = 0;
  const auto weight = [&](const char* name, Shape shape) {
    return g.add_constant(name, random_tensor(std::move(shape), ++seed));
  };
  const auto linear = [&](ValueId in, const std::string& name, int64_t from, int64_t to) {
    const ValueId y =
        g.emit("MatMul", {in, weight((name + ".w").c_str(), {from, to})}, {}, name + "/product");
    return g.emit("Add", {y, weight((name + ".b").c_str(), {to})}, {}, name);
  };
  Attributes last;
  last["axis"].value = int64_t{-1};
  const ValueId up = linear(x, "up", 8, 16);
  const ValueId down = linear(g.emit("Gelu", {up}, {}, "gelu"), "down", 16, 8);
  const ValueId sum = g.emit("Add", {down, x}, {}, "residual");
  const ValueId y =
      g.emit("LayerNormalization", {sum, weight("gain", {8}), weight("bias", {8})}, last, "norm");
  g.mark_output(y);
  g.rename(y, "y");
  EXPECT_TRUE(infer_types(g).ok());
  return g;
}

TEST(Forms, OnePlanMeansTheSameInEveryForm) {
  const Graph graph = block();
  const QuantizationPlan plan =
      plan_quantization(graph, test::random_source({2, 4, 8}, 4), {.target = "onnxruntime"})
          .value();
  const Graph qdq = quantize(graph, plan).value();
  const Tensor x = random_tensor({2, 4, 8}, 5);
  const Tensor want = test::run_reference(qdq, x);
  for (const FileForm form : kFileForms) {
    const Graph converted = in_form(qdq, form);
    const Tensor y = test::run_reference(converted, x);
    EXPECT_GT(test::sqnr(want, y), 60) << name(form);
    const std::vector<Finding> findings = check(converted, "onnxruntime").value();
    for (const Finding& f : findings)
      EXPECT_NE(f.severity, Severity::kError) << f.message;
  }
  const Graph fused = in_form(qdq, FileForm::kFused);
  EXPECT_EQ(nodes_of(fused, "BiasGelu").size(), 1U);
  EXPECT_EQ(nodes_of(fused, "DequantizeLinear").size(), 0U);
  EXPECT_EQ(nodes_of(fused, "Add").size(), 1U); // the residual
}

/// ONNX Runtime's FastGelu refuses it.
TEST(Forms, GeluOfAScalarStays) {
  for (const char* shape : {"[]", "[3]"}) {
    const auto graph =
        parse_graph(std::string("graph g opset(\"\"=20)\ninput x: f32") + shape +
                    "\ny = Gelu(x) {approximate=\"tanh\"}\noutput y: f32" + shape + "\n");
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    const Graph fused = in_form(*graph, FileForm::kFused);
    EXPECT_EQ(nodes_of(fused, "FastGelu").size(), std::string(shape) == "[]" ? 0U : 1U) << shape;
  }
}

TEST(Forms, FewerBitsAreStatedByClips) {
  for (const int bits : {2, 3, 4, 5, 6, 7, 8}) {
    SCOPED_TRACE(bits);
    const QuantizationPlan plan =
        plan_quantization(block(), test::random_source({2, 4, 8}, 4),
                          {.target = "octet", .weight_bits = bits, .activation_bits = bits})
            .value();
    EXPECT_EQ(QuantizationPlan::from_json(plan.to_json()).value().to_json(), plan.to_json());
    const Graph qdq = quantize(block(), plan).value();
    const Graph qcdq = in_form(qdq, FileForm::kQcdq);
    const Tensor x = random_tensor({2, 4, 8}, 6);
    EXPECT_TRUE(test::run_reference(qdq, x).identical(test::run_reference(qcdq, x)));
    EXPECT_EQ(nodes_of(qcdq, "Clip").size(), 4U); // two activations, two weights
    for (const Node* clip : nodes_of(qcdq, "Clip")) {
      const double lo = qcdq.constant(clip->input(1))->at(0);
      const double hi = qcdq.constant(clip->input(2))->at(0);
      if (qcdq.constant(clip->input(0)) != nullptr)
        EXPECT_EQ(hi, (1 << (bits - 1)) - 1);
      else
        EXPECT_EQ(hi - lo, (1 << bits) - 1);
    }
  }
}

TEST(Forms, TensorRtTakesNoFewerBits) {
  const auto refused = plan_quantization(block(), test::random_source({2, 4, 8}, 4),
                                         {.target = "tensorrt-10", .activation_bits = 4});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("8 bits"), std::string::npos);
}

} // namespace
} // namespace octet

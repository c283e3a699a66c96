// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime itself: written files load and run there, compute what octet's reference does, and
// every layer takes the form that explain predicts.
#include <filesystem>
#include <map>

#include "ops/infer.h"
#include "quant/support.h"
#include "targets/run_onnxruntime.h"
#include <gtest/gtest.h>

#include "octet/certify.h"
#include "octet/export.h"
#include "octet/graph_text.h"
#include "octet/onnx.h"
#include "octet/target.h"

namespace octet {
namespace {

using test::cnn;
using test::cnn_data;

struct Model {
  std::string name;
  Graph graph;
  bool all_integer = false; ///< every product must be
};

Graph quantized(const Graph& graph, const QuantizeOptions& options) {
  return quantize(graph, plan_quantization(graph, cnn_data(), options).value()).value();
}

std::vector<Model> models() {
  std::vector<Model> out;
  const auto add = [&](const std::string& name, const CnnOptions& shape,
                       const QuantizeOptions& options) {
    const bool own = options.target == "onnxruntime" && options.mode == QuantMode::kStatic;
    out.push_back({name, quantized(cnn(shape), options), own});
  };
  for (const char* target : {"onnxruntime", "octet", "tensorrt-10", "tensorrt-8.6"}) {
    const std::string t = target;
    add(t + "_plain", {}, {.target = t});
    add(t + "_relu", {.hidden_relu = true, .batch_norm = true}, {.target = t});
    add(t + "_softmax", {}, {.target = t, .softmax = true});
    add(t + "_logits", {.softmax = false}, {.target = t, .per_channel = false});
    add(t + "_weights", {}, {.target = t, .mode = QuantMode::kWeightOnly});
  }
  const Graph open = quantized(cnn({}), {.target = "onnxruntime"});
  const auto certification = Certification::create(open);
  EXPECT_FALSE(certification->safe());
  out.push_back({"certified", certification->reduced().value(), true});
  add("symmetric", {.hidden_relu = true}, {.target = "onnxruntime", .symmetric = true});
  add("percentile", {}, {.target = "onnxruntime", .calibrator = Percentile{99.9}});
  add("dynamic", {}, {.target = "onnxruntime", .mode = QuantMode::kDynamic});
  add("dynamic_conv", {},
      {.target = "onnxruntime", .mode = QuantMode::kDynamic, .include = {"Conv", "Gemm"}});
  for (const FileForm form : {FileForm::kQOperator, FileForm::kFused, FileForm::kQcdq}) {
    Graph graph = quantized(cnn({}), {.target = "onnxruntime"});
    EXPECT_TRUE(convert_form(graph, form).ok());
    out.push_back({"form_" + std::string(name(form)), std::move(graph), true});
  }
  return out;
}

/// How often each form is predicted, layers that only move codes and fused ones left out.
std::map<std::string, int> predicted(const Graph& graph) {
  std::map<std::string, int> out;
  const std::vector<LayerForm> layers = explain(graph, "onnxruntime").value();
  for (const LayerForm& layer : layers)
    if (layer.precision != LayerPrecision::kFused && layer.precision != LayerPrecision::kCodes)
      ++out[layer.form];
  return out;
}

const std::vector<std::string> kForms = {"QLinearConv",
                                         "FusedConv",
                                         "Conv",
                                         "QGemm",
                                         "FusedGemm",
                                         "Gemm",
                                         "QLinearMatMul",
                                         "MatMul",
                                         "MatMulIntegerToFloat",
                                         "QLinearAveragePool",
                                         "AveragePool",
                                         "QLinearSoftmax",
                                         "Softmax",
                                         "Relu",
                                         "MatMulInteger",
                                         "DynamicQuantizeMatMul",
                                         "ConvInteger",
                                         "MatMulNBits",
                                         "QLinearAdd",
                                         "QLinearConcat",
                                         "QLinearWhere"};

/// Small graphs, one for each row of docs/targets.md section 8, over x: f32[64, 1, 28, 28].
class Forms {
 public:
  Forms() {
    graph_.name = "form";
    graph_.opsets[""] = 17;
    graph_.info.ir_version = 8;
    x_ = graph_.add_input("x", tensor_type(DType::kFloat32, std::vector<int64_t>{64, 1, 28, 28}));
  }
  ValueId x() const { return x_; }
  ValueId op(const char* type, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return graph_.emit(type, std::move(inputs), std::move(attributes));
  }
  template <class T>
  ValueId scalar(T value) {
    return graph_.add_constant("c", Tensor::scalar<T>(value));
  }
  ValueId floats(Shape shape) {
    return graph_.add_constant("c", test::random_tensor(std::move(shape), ++seed_));
  }
  ValueId q(ValueId v, int zero = 0, bool is_uint8 = false) {
    return op("QuantizeLinear", {v, scalar(0.03F), zero_point(zero, is_uint8)});
  }
  ValueId dq(ValueId v, int zero = 0, bool is_uint8 = false) {
    return op("DequantizeLinear", {v, scalar(0.03F), zero_point(zero, is_uint8)});
  }
  ValueId pair(ValueId v, int zero = 0, bool is_uint8 = false) {
    return dq(q(v, zero, is_uint8), zero, is_uint8);
  }
  ValueId weight(Shape shape) {
    const Tensor w = test::random_tensor(std::move(shape), ++seed_, -127, 127);
    const ValueId codes = graph_.add_constant(
        "w", Tensor::from_doubles(DType::kInt8, w.shape(), w.to_doubles().value()).value());
    return op("DequantizeLinear", {codes, scalar(0.002F), scalar<int8_t>(0)});
  }
  /// Q, a Clip of the codes, DQ.
  ValueId clipped(ValueId v, int zero = 0, bool is_uint8 = false) {
    const auto code = [&](int c) { return zero_point(zero + c, is_uint8); };
    return dq(op("Clip", {q(v, zero, is_uint8), code(-100), code(100)}), zero, is_uint8);
  }
  ValueId conv(ValueId v) { return op("Conv", {v, weight({4, 1, 3, 3}), floats({4})}); }
  /// x as a matrix [64, 784].
  ValueId flat(ValueId v) { return op("Flatten", {v}); }
  ValueId gemm(ValueId v, ValueId bias) {
    std::vector<ValueId> inputs = {v, weight({784, 16})};
    if (bias.valid()) inputs.push_back(bias);
    return op("Gemm", inputs);
  }
  ValueId int32_bias() {
    const std::vector<int32_t> codes(16, 1000);
    return op("DequantizeLinear",
              {graph_.add_constant("b", Tensor::of<int32_t>({16}, std::span(codes))),
               scalar(0.03F * 0.002F), scalar<int32_t>(0)});
  }
  Model done(const char* name, ValueId y) {
    graph_.mark_output(y);
    graph_.rename(y, "y");
    EXPECT_TRUE(infer_types(graph_).ok());
    return {name, graph_};
  }

 private:
  ValueId zero_point(int zero, bool is_uint8) {
    return is_uint8 ? scalar(static_cast<uint8_t>(zero)) : scalar(static_cast<int8_t>(zero));
  }
  Graph graph_;
  ValueId x_;
  uint32_t seed_ = 0;
};

std::vector<Model> convolution_forms() {
  std::vector<Model> out;
  const auto add = [&](const char* name, auto make) {
    Forms f;
    const ValueId y = make(f);
    out.push_back(f.done(name, y));
  };
  add("conv_q", [](Forms& f) { return f.pair(f.conv(f.pair(f.x()))); });
  add("conv_relu_q", [](Forms& f) { return f.pair(f.op("Relu", {f.conv(f.pair(f.x()))})); });
  add("conv_relu_q128",
      [](Forms& f) { return f.pair(f.op("Relu", {f.conv(f.pair(f.x(), 128, true))}), 128, true); });
  add("conv_relu_q_low",
      [](Forms& f) { return f.pair(f.op("Relu", {f.conv(f.pair(f.x()))}), -128); });
  add("conv_relu_q_uint8",
      [](Forms& f) { return f.pair(f.op("Relu", {f.conv(f.pair(f.x(), 128, true))}), 0, true); });
  add("conv_clip_q", [](Forms& f) {
    const ValueId c = f.conv(f.pair(f.x()));
    return f.pair(f.op("Clip", {c, f.scalar(0.0F), f.scalar(6.0F)}));
  });
  add("conv_q_relu_q",
      [](Forms& f) { return f.pair(f.op("Relu", {f.pair(f.conv(f.pair(f.x())))})); });
  add("conv_no_q", [](Forms& f) { return f.conv(f.pair(f.x())); });
  Attributes window;
  window["kernel_shape"].value = std::vector<int64_t>{2, 2};
  add("pool_no_q",
      [&](Forms& f) { return f.op("Neg", {f.op("AveragePool", {f.pair(f.x())}, window)}); });
  add("pool_q", [&](Forms& f) { return f.pair(f.op("AveragePool", {f.pair(f.x())}, window)); });
  return out;
}

std::vector<Model> product_forms() {
  std::vector<Model> out;
  const auto add = [&](const char* name, auto make) {
    Forms f;
    const ValueId y = make(f);
    out.push_back(f.done(name, y));
  };
  const auto input = [](Forms& f) { return f.pair(f.flat(f.x())); };
  add("gemm_relu_q",
      [&](Forms& f) { return f.pair(f.op("Relu", {f.gemm(input(f), f.floats({16}))})); });
  add("gemm_relu_q_low",
      [&](Forms& f) { return f.pair(f.op("Relu", {f.gemm(input(f), f.floats({16}))}), -128); });
  add("gemm_int32_bias", [&](Forms& f) { return f.gemm(input(f), f.int32_bias()); });
  add("gemm_no_bias", [&](Forms& f) { return f.gemm(input(f), {}); });
  add("gemm_float_bias", [&](Forms& f) { return f.gemm(input(f), f.floats({16})); });
  const auto sum = [](Forms& f, ValueId a, ValueId b, ValueId c) {
    return f.op("Sum",
                {f.op("MatMul", {a, f.weight({28, 16})}), f.op("MatMul", {b, f.weight({28, 16})}),
                 f.op("MatMul", {c, f.weight({28, 16})})});
  };
  add("qkv_shared_int8", [&](Forms& f) {
    const ValueId q = f.q(f.x());
    return sum(f, f.dq(q), f.dq(q), f.dq(q));
  });
  add("qkv_shared_pair", [&](Forms& f) {
    const ValueId d = f.pair(f.x());
    return sum(f, d, d, d);
  });
  add("qkv_own_int8",
      [&](Forms& f) { return sum(f, f.pair(f.x()), f.pair(f.x()), f.pair(f.x())); });
  add("qkv_shared_uint8", [&](Forms& f) {
    const ValueId q = f.q(f.x(), 128, true);
    return sum(f, f.dq(q, 128, true), f.dq(q, 128, true), f.dq(q, 128, true));
  });
  add("attention", [](Forms& f) {
    const ValueId scores = f.op("MatMul", {f.pair(f.x()), f.pair(f.op("Neg", {f.x()}))});
    const ValueId p = f.op("Softmax", {scores});
    return f.pair(f.op("MatMul", {f.pair(p), f.pair(f.op("Abs", {f.x()}))}));
  });
  add("no_zero_point", [](Forms& f) {
    const ValueId s = f.scalar(0.03F);
    const ValueId d = f.op("DequantizeLinear", {f.op("QuantizeLinear", {f.x(), s}), s});
    return f.op("MatMul", {d, f.weight({28, 16})});
  });
  return out;
}

/// Q/DQ with a Clip of the codes, and Q/DQ on the far side of what moves values.
std::vector<Model> moved_forms() {
  std::vector<Model> out;
  const auto add = [&](const std::string& name, auto make) {
    Forms f;
    const ValueId y = make(f);
    out.push_back(f.done(name.c_str(), y));
  };
  Attributes window;
  window["kernel_shape"].value = std::vector<int64_t>{2, 2};
  for (const bool u : {false, true}) {
    const int z = u ? 128 : 0;
    const std::string type = u ? "_uint8" : "_int8";
    add("clip_conv" + type,
        [=](Forms& f) { return f.clipped(f.conv(f.clipped(f.x(), z, u)), z, u); });
    add("clip_pool" + type, [=](Forms& f) {
      return f.clipped(f.op("AveragePool", {f.clipped(f.x(), z, u)}, window), z, u);
    });
    add("clip_pool_pair" + type, [=](Forms& f) {
      return f.pair(f.op("AveragePool", {f.clipped(f.x(), z, u)}, window), z, u);
    });
    add("clip_matmul" + type, [=](Forms& f) {
      return f.op("MatMul", {f.clipped(f.x(), z, u), f.weight({28, 16})});
    });
    add("clip_add" + type, [=](Forms& f) {
      return f.clipped(f.op("Add", {f.clipped(f.x(), z, u), f.clipped(f.op("Abs", {f.x()}), z, u)}),
                       z, u);
    });
  }
  // With int8 codes it is QGemm by default, and float here, where weights become uint8 first.
  add("clip_gemm_uint8", [](Forms& f) { return f.gemm(f.clipped(f.flat(f.x()), 128, true), {}); });
  add("conv_pool_q",
      [=](Forms& f) { return f.pair(f.op("MaxPool", {f.conv(f.pair(f.x()))}, window)); });
  add("conv_relu_pool_q", [=](Forms& f) {
    const ValueId r = f.op("Relu", {f.conv(f.pair(f.x()))});
    return f.pair(f.op("MaxPool", {r}, window), -128);
  });
  add("conv_pool_relu_q", [=](Forms& f) {
    const ValueId m = f.op("MaxPool", {f.conv(f.pair(f.x()))}, window);
    return f.pair(f.op("Relu", {m}), -128);
  });
  add("pool_conv_q",
      [=](Forms& f) { return f.pair(f.conv(f.op("MaxPool", {f.pair(f.x())}, window))); });
  add("conv_flatten_q", [=](Forms& f) { return f.pair(f.flat(f.conv(f.pair(f.x())))); });
  add("weight_alone", [](Forms& f) { return f.op("MatMul", {f.x(), f.weight({28, 16})}); });
  return out;
}

/// From text, with w and w2: i8[28, 4] and scales.
Model of_text(const char* name, int64_t opset, const std::string& body) {
  std::string codes, others;
  for (int i = 0; i < 28 * 4; ++i) {
    codes += (i == 0 ? "" : ", ") + std::to_string(i * 37 % 201 - 100);
    others += (i == 0 ? "" : ", ") + std::to_string(i * 53 % 201 - 100);
  }
  const auto graph = parse_graph(
      "graph g opset(\"\"=" + std::to_string(opset) +
      ", \"com.microsoft\"=1)\ninput x: f32[64, 1, 28, 28]\nconst s: f32[] = [0.03]\n"
      "const s2: f32[] = [0.01]\nconst z: i8[] = [0]\nconst z2: i8[] = [0]\nconst u: u8[] = [128]\n"
      "const h: f16[] = [0.03]\nconst b: f32[4] = [1, 2, 3, 4]\nconst w: i8[28, 4] = [" +
      codes + "]\nconst w2: i8[28, 4] = [" + others + "]\n" + body + "\noutput y: f32[*]\n");
  EXPECT_TRUE(graph.ok()) << name << ": " << (graph.ok() ? "" : graph.error().text());
  Model out{name, *graph};
  out.graph.info.ir_version = 10;
  EXPECT_TRUE(infer_types(out.graph).ok());
  return out;
}

/// Products that are integer in the file, and Q/DQ in float16.
std::vector<Model> integer_forms() {
  const std::string quantized = "q, qs, qz = DynamicQuantizeLinear(x)\n";
  const std::string product = "m = MatMulInteger(q, w, qz, z)\nf = Cast(m) {to=1}\n";
  const std::string again = "n = MatMulInteger(q, w2, qz, z2)\ng = Cast(n) {to=1}\n";
  const std::string half = "t = Cast(x) {to=10}\nq = QuantizeLinear(t, h, u)\n"
                           "d = DequantizeLinear(q, h, u)\n";
  return {
      of_text("one_dynamic", 17, quantized + product + "t = Mul(qs, s)\ny = Mul(f, t)"),
      of_text("one_dynamic_bias", 17,
              quantized + product + "t = Mul(qs, s)\np = Mul(f, t)\ny = Add(p, b)"),
      of_text("scales_the_other_way", 17, quantized + product + "t = Mul(s, qs)\ny = Mul(f, t)"),
      of_text("scales_one_by_one", 17, quantized + product + "p = Mul(f, qs)\ny = Mul(p, s)"),
      of_text("shared_dynamic", 17,
              quantized + product + again +
                  "t = Mul(qs, s)\nv = Mul(qs, s2)\np = Mul(f, t)\nr = Mul(g, v)\ny = Sub(p, r)"),
      of_text("shared_scales", 17,
              quantized + product + again +
                  "t = Mul(qs, s)\nv = Mul(qs, s)\np = Mul(f, t)\nr = Mul(g, v)\no = Exp(r)\n"
                  "y = Sub(p, r)"),
      of_text("static_integer", 17,
              "q = QuantizeLinear(x, s, u)\nm = MatMulInteger(q, w, u)\nf = Cast(m) {to=1}\n"
              "y = Mul(f, s)"),
      of_text("half_matmul", 21,
              half + "e = DequantizeLinear(w, h, z)\np = MatMul(d, e)\ny = Cast(p) {to=1}"),
      of_text("half_pool", 21,
              half + "p = AveragePool(d) {kernel_shape=[2, 2]}\nr = QuantizeLinear(p, h, u)\n"
                     "e = DequantizeLinear(r, h, u)\ny = Cast(e) {to=1}"),
  };
}

void expect_predicted_forms(const std::vector<Model>& all,
                            const nlohmann::json& results,
                            const Tensor& x) {
  for (const Model& model : all) {
    SCOPED_TRACE(model.name);
    const nlohmann::json& result = results.at(model.name);
    ASSERT_FALSE(result.contains("error")) << result.at("error");
    const Tensor y = test::run_reference(model.graph, x);
    const std::vector<float> theirs = result.at("output").get<std::vector<float>>();
    ASSERT_EQ(static_cast<int64_t>(theirs.size()), y.count());
    EXPECT_GT(test::sqnr(y, Tensor::of<float>(y.shape(), std::span<const float>(theirs))), 35);
    // Where no pair of products can saturate, it gives the same numbers with and without VNNI.
    if (model.name == "certified") {
      EXPECT_TRUE(Certification::create(model.graph)->safe());
      EXPECT_EQ(result.at("saturating"), result.at("output"));
    }
    std::map<std::string, int> expected = predicted(model.graph);
    for (const std::string& form : kForms)
      EXPECT_EQ(result.at("ops").value(form, 0), expected[form]) << form;
    if (!model.all_integer) continue;
    for (const char* form : {"Conv", "FusedConv", "Gemm", "FusedGemm", "AveragePool"})
      EXPECT_EQ(result.at("ops").value(form, 0), 0) << form;
  }
}

/// Runs the models there and compares.
void compare(const std::string& name, const std::vector<Model>& all) {
  const std::string folder = ::testing::TempDir() + "octet_onnxruntime_" + name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const Tensor x = test::random_tensor({64, 1, 28, 28}, 5, -0.8F, 2.0F);
  ASSERT_TRUE(write_tensor_proto({"x", x}, folder + "/x.pb").ok());
  for (const Model& model : all) {
    const Status saved = save_onnx(model.graph, folder + "/" + model.name + ".onnx");
    ASSERT_TRUE(saved.ok()) << saved.error().text();
  }
  const nlohmann::json results = test::run_onnxruntime(folder);
  ASSERT_TRUE(results.is_object());
  expect_predicted_forms(all, results, x);
  std::filesystem::remove_all(folder);
}

TEST(OnnxRuntime, RunsEveryFileInTheFormsThatExplainPredicts) {
  compare("written_files", models());
}

TEST(OnnxRuntime, ExplainPredictsTheMeasuredForms) {
  std::vector<Model> all = convolution_forms();
  for (std::vector<Model> more : {product_forms(), moved_forms(), integer_forms()})
    for (Model& model : more)
      all.push_back(std::move(model));
  compare("forms", all);
}

TEST(OnnxRuntime, CheckRefusesWhatItFailsToLoad) {
  const std::string pair = "q = QuantizeLinear(x, s, z)\nd = DequantizeLinear(q, s, z)\n";
  const std::string half = "t = Cast(x) {to=10}\nn = Neg(t)\nq = QuantizeLinear(t, h, u)\n"
                           "d = DequantizeLinear(q, h, u)\no = QuantizeLinear(n, h, u)\n"
                           "e = DequantizeLinear(o, h, u)\nc = Concat(d, e) {axis=0}\n";
  const std::string moved = pair + "p = MaxPool(d) {kernel_shape=[2, 2]}\n";
  const std::string behind = "r = QuantizeLinear(p, s, z)\ny = DequantizeLinear(r, s, z)";
  const std::vector<std::pair<Model, bool>> all = {
      {of_text("moved_21", 21, moved + "y = Neg(p)"), false},
      {of_text("moved_twice_21", 21, moved + "a = Transpose(p)\ny = Neg(a)"), false},
      {of_text("moved_20", 20, moved + "y = Neg(p)"), true},
      {of_text("moved_21_q", 21, moved + behind), true},
      {of_text("half_concat", 21,
               half + "r = QuantizeLinear(c, h, u)\nf = DequantizeLinear(r, h, u)\n"
                      "y = Cast(f) {to=1}"),
       false},
      {of_text("half_concat_no_q", 21, half + "y = Cast(c) {to=1}"), true},
  };
  const std::string folder = ::testing::TempDir() + "octet_onnxruntime_refused";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(
      write_tensor_proto({"x", test::random_tensor({64, 1, 28, 28}, 5)}, folder + "/x.pb").ok());
  for (const auto& [model, loads] : all)
    ASSERT_TRUE(save_onnx(model.graph, folder + "/" + model.name + ".onnx").ok());
  const nlohmann::json results = test::run_onnxruntime(folder);
  ASSERT_TRUE(results.is_object());
  for (const auto& [model, loads] : all) {
    EXPECT_EQ(results.at(model.name).contains("error"), !loads) << model.name;
    EXPECT_EQ(accepted(check(model.graph, "onnxruntime").value()), loads) << model.name;
  }
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace octet

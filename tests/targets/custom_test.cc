// SPDX-License-Identifier: Apache-2.0
// Targets in TOML: the example of the documentation is read and obeyed, mistakes are named.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/format.h"
#include "quant/support.h"
#include "support/paths.h"
#include "targets/custom/target.h"
#include "targets/findings.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"
#include "octet/repair.h"
#include "octet/target.h"

namespace octet {
namespace {

std::string written(const std::string& text) {
  static int count = 0;
  std::string path = testing::TempDir() + "target-" + std::to_string(++count) + ".toml";
  std::ofstream(path) << text;
  return path;
}

std::string documented() {
  std::ifstream file(std::string(test::source_dir()) + "/docs/targets.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  const size_t begin = all.find("```toml\n") + 8;
  return all.substr(begin, all.find("```", begin) - begin);
}

Graph parsed(const char* text) {
  Result<Graph> graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().text());
  return std::move(graph).value();
}

TEST(CustomTarget, ReadsTheDocumentedExample) {
  const std::string path = written(documented());
  const auto def = find_target(path);
  ASSERT_TRUE(def.ok()) << def.error().text();
  const Placement& placement = *(*def)->placement;
  EXPECT_EQ(placement.activation.type, DType::kInt8);
  EXPECT_TRUE(placement.symmetric_only);
  EXPECT_EQ(placement.max_opset, 17);
  EXPECT_EQ(placement.rule("Add")->why, "its adder takes codes alone");
  EXPECT_EQ(placement.rule("Conv")->treatment, Treatment::kProduct); // the base's
  const auto again = find_target(path);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ((*again)->name, path);
  EXPECT_EQ((*again)->custom->name, (*def)->custom->name);
  EXPECT_EQ((*again)->placement->rules.size(), placement.rules.size());
  EXPECT_EQ((*again)->placement->rule("Add")->why, "its adder takes codes alone");
}

/// Rules are views of the file's texts, which nothing else keeps.
TEST(CustomTarget, OwnsWhatItsPlacementPointsTo) {
  const auto placement = find_placement(written(documented()));
  ASSERT_TRUE(placement.ok()) << placement.error().text();
  EXPECT_EQ((*placement)->rule("Add")->why, "its adder takes codes alone");
  EXPECT_FALSE((*placement)->target.empty());
}

TEST(CustomTarget, QuantizesAndChecksByIt) {
  const std::string path = written(documented());
  const Graph float_graph = test::cnn({});
  const auto plan = plan_quantization(float_graph, test::cnn_data(), {.target = path});
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  EXPECT_EQ(plan->target, path);
  for (const TensorPlan& tensor : plan->tensors)
    EXPECT_EQ(tensor.scheme.type, DType::kInt8);
  const Graph other = parsed(R"(graph g opset(""=18)
input x: f32[1, 4]
y = Resize(x) "bigger"
output y: f32[1, 4]
)");
  std::vector<std::string> rules;
  const std::vector<Finding> found = check(other, path).value();
  rules.reserve(found.size());
  for (const Finding& f : found)
    rules.push_back(f.rule + " " + f.node);
  EXPECT_EQ(rules, (std::vector<std::string>{"opset g", "operator Resize \"bigger\""}));
}

/// What makes an operator special on the base holds where the file gives it a rule of its own.
TEST(CustomTarget, QuantizesSoftmaxOnRequestAlone) {
  const std::string path = written("base = \"octet\"\n[[rule]]\nop = \"Softmax\"\n"
                                   "treatment = \"around\"\nwhy = \"mine\"\n");
  const Graph float_graph = parsed(R"(graph g opset(""=17)
input image: f32[8, 1, 28, 28]
const by: f32[] = [0.01]
m = Mul(image, by)
p = Softmax(m) "shares"
output p: f32[*]
)");
  for (const bool asked : {false, true}) {
    const auto plan =
        plan_quantization(float_graph, test::cnn_data(), {.target = path, .softmax = asked});
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    const NodePlan* softmax = plan->node("shares");
    ASSERT_NE(softmax, nullptr);
    EXPECT_EQ(softmax->quantized, asked);
    EXPECT_EQ(softmax->rule, asked ? Placed::kAround : Placed::kSoftmax);
    const TensorPlan* shares = plan->tensor("p");
    ASSERT_EQ(shares != nullptr, asked);
    if (asked) {
      EXPECT_EQ(shares->algorithm, "fixed");
      EXPECT_EQ(shares->ranges, (std::vector<Range>{{0, 1}}));
    }
  }
}

TEST(CustomTarget, ChecksCodesByIt) {
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"[activations]\ntype = \"int8\"", {"activation-type", "activation-type"}},
      {"[activations]\nsymmetric-only = true", {"zero-point-not-zero", "zero-point-not-zero"}},
      {"[weights]\nsymmetric = true", {"weight-zero-point"}},
      {"[weights]\nstored = false", {"stored-weight"}},
      {"[weights]\nnarrow = true", {"weight-range"}},
      {"[activations]\ntype = \"uint8\"\nsymmetric = true\n[weights]\nstored = true", {}}};
  const Graph graph = parsed(R"(graph g opset(""=17)
input x: f32[1, 2]
const s: f32[] = [0.1]
const u: u8[] = [100]
const w: i8[2, 2] = [1, -128, 3, 4]
const v: i8[] = [3]
q = QuantizeLinear(x, s, u)
d = DequantizeLinear(q, s, u)
e = DequantizeLinear(w, s, v)
y = MatMul(d, e)
output y: f32[1, 2]
)");
  for (const auto& [text, wanted] : cases) {
    const auto found = check(graph, written(std::string("base = \"onnxruntime\"\n") + text));
    ASSERT_TRUE(found.ok()) << found.error().text();
    std::vector<std::string> rules;
    for (const Finding& f : *found)
      if (f.severity == Severity::kError) rules.push_back(f.rule);
    EXPECT_EQ(rules, wanted) << text;
  }
}

/// A target on the CUDA provider has its rules, not those of the CPU.
TEST(CustomTarget, OnCudaIsCuda) {
  const std::string path = written("base = \"onnxruntime-cuda\"\nname = \"my-gpu\"\n");
  const Graph graph = parsed(R"(graph g opset(""=17, "com.microsoft"=1)
input x: f32[2, 4]
const s: f32[] = [0.1]
const z: u8[] = [128]
const w: i8[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
const v: i8[] = [0]
q = QuantizeLinear(x, s, z)
d = DequantizeLinear(q, s, z)
e = DequantizeLinear(w, s, v)
m = MatMul(d, e) "product"
y = Hardmax(m) "none"
output y: f32[*]
)");
  const auto described = [&](std::string_view target) {
    std::vector<std::string> out;
    const std::vector<LayerForm> layers = explain(graph, target).value();
    for (const LayerForm& layer : layers)
      out.push_back(
          fmt::format("{}: {}, {}, {}", layer.node, layer.form, layer.precision_name(), layer.why));
    const std::vector<Finding> findings = check(graph, target).value();
    for (const Finding& f : findings)
      out.push_back(f.rule + " " + f.node + ": " + f.message);
    return out;
  };
  EXPECT_EQ(described(path), described("onnxruntime-cuda"));
  EXPECT_NE(described(path), described("onnxruntime"));
}

TEST(CustomTarget, MistakesAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"name = \"a\"", "base is missing"},
      {"base = \"onnxruntim\"", "onnxruntime"},
      {"base = \"octet\"\nopst = 3", "line 2: unknown key \"opst\"; did you mean \"opset\""},
      {"base = \"octet\"\n\n[weights]\nsymetric = true",
       "line 4: unknown key \"weights.symetric\"; did you mean \"symmetric\""},
      {"base = \"octet\"\n[activations]\ntype = \"int9\"", "line 3: activations.type is \"int9\""},
      {"base = \"octet\"\nopset = \"x\"", "line 2: opset wants an integer from 7 to 1000"},
      {"base = \"octet\"\n[[rule]]\nop = \"Conv\"\ntreatment = \"prodct\"", "\"product\""},
      {"base = \"octet\"\n[[rule]]\ntreatment = \"float\"", "rule.op is missing"},
      {"base = \"octet\"\nrule = 3", "wants tables"},
      {"base = ", "line 1"},
  };
  for (const auto& [text, message] : cases) {
    const auto def = find_target(written(text));
    ASSERT_FALSE(def.ok()) << text;
    EXPECT_NE(def.error().text().find(message), std::string::npos) << def.error().text();
  }
  EXPECT_FALSE(find_target("/nowhere/at-all.toml").ok());
}

TEST(OnnxRuntimeReleases, BoundWhatTheyRead) {
  Graph g = parsed(R"(graph g opset(""=21)
input x: f32[1, 4]
y = Relu(x)
output y: f32[1, 4]
)");
  g.info.ir_version = 10;
  const auto rules = [&](const char* target) {
    std::string out;
    const std::vector<Finding> found = check(g, target).value();
    for (const Finding& f : found)
      out += f.rule + " ";
    return out;
  };
  EXPECT_EQ(rules("onnxruntime-1.17"), "opset ir-version ");
  EXPECT_EQ(rules("onnxruntime-1.18"), "");
  EXPECT_EQ(rules("onnxruntime"), "");
}

TEST(OnnxRuntimeReleases, OlderOnesGetInt32Biases) {
  const Graph float_graph = test::cnn({});
  for (const auto& [target, stored] :
       {std::pair{"onnxruntime-1.20", true}, {"onnxruntime-1.21", false}}) {
    const auto plan = plan_quantization(float_graph, test::cnn_data(), {.target = target}).value();
    const Graph graph = quantize(float_graph, plan).value();
    int convolutions = 0, integer = 0;
    const std::vector<LayerForm> layers = explain(graph, target).value();
    for (const LayerForm& layer : layers)
      if (layer.op == "Conv") {
        ++convolutions;
        integer += layer.form == "QLinearConv" ? 1 : 0;
      }
    EXPECT_GT(convolutions, 0);
    EXPECT_EQ(integer, convolutions) << target;
    for (const NodeId id : graph.nodes()) {
      const Node& node = graph.node(id);
      if (!node.is("Conv") || !node.input(2).valid()) continue;
      EXPECT_EQ(graph.constant(node.input(2)) == nullptr, stored) << target;
    }
  }
}

TEST(OnnxRuntimeCuda, NamesWhatRunsOnTheCpu) {
  const Graph g = parsed(R"(graph g opset(""=18)
input x: f32[1, 4]
a = Mish(x) "m"
y = Relu(a)
output y: f32[1, 4]
)");
  const auto findings = check(g, "onnxruntime-cuda").value();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rule, "no-cuda-kernel");
  EXPECT_TRUE(accepted(findings));
  const auto layers = explain(g, "onnxruntime-cuda").value();
  EXPECT_EQ(layers[0].form, "Mish on the CPU");
  EXPECT_EQ(layers[1].form, "Relu");
}

TEST(OnnxRuntimeCuda, OrdersOfCublasLtRunNowhereElse) {
  const Graph g = parsed(R"(graph g opset(""=17, "com.microsoft"=1)
input x: f32[2, 4]
const s: f32[] = [0.1]
q = com.microsoft.QuantizeWithOrder(x, s) {order_input=1, order_output=1} "first"
o = com.microsoft.QOrderedGelu(q, s, s)
y = com.microsoft.DequantizeWithOrder(o, s) {order_input=1, order_output=1, to=1}
output y: f32[2, 4]
)");
  const auto findings = check(g, "onnxruntime").value();
  EXPECT_FALSE(accepted(findings));
  ASSERT_TRUE(test::has_rule(findings, "no-cpu-kernel"));
  EXPECT_NE(findings[0].message.find(
                "Could not find an implementation for QuantizeWithOrder(1) node with name 'first'"),
            std::string::npos);
  EXPECT_TRUE(check(g, "onnxruntime-cuda").value().empty());
  EXPECT_TRUE(repair(g, "onnxruntime-cuda").value().changes.empty());
  const Repaired repaired = repair(g, "onnxruntime").value();
  EXPECT_EQ(repaired.changes.size(), 3U);
  EXPECT_TRUE(repaired.left.empty());
}

TEST(Check, LooksIntoBodies) {
  const Graph g = parsed(R"(graph g opset(""=17)
input c: bool[]
input x: f32[4]
const s: f32[] = [0.5]
const z: i8[] = [3]
y = If(c) {then_branch={ graph a
  capture x: f32[4]
  capture s: f32[]
  capture z: i8[]
  q = QuantizeLinear(x, s, z) "inner"
  t = DequantizeLinear(q, s, z)
  output t: f32[4]
}, else_branch={ graph b
  capture x: f32[4]
  u = Abs(x)
  output u: f32[4]
}} "choice"
output y: f32[4]
)");
  const auto findings = check(g, "tensorrt-10").value();
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].rule, "zero-point-not-zero");
  EXPECT_EQ(findings[0].node, "If \"choice\" then_branch: QuantizeLinear \"inner\"");
  EXPECT_FALSE(accepted(findings));
}

} // namespace
} // namespace octet

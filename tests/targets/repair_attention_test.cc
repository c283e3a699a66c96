// SPDX-License-Identifier: Apache-2.0
// repair puts Q and DQ where TensorRT's fused int8 attention wants them, or takes them out: explain
// finds one kernel afterwards, and the outputs are what they were to the steps of the scales.
#include <algorithm>
#include <cmath>
#include <memory>

#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"
#include "octet/repair.h"

namespace octet {
namespace {

constexpr int kLength = 6;

Graph parsed(const std::string& text) {
  Result<Graph> graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().text());
  return graph.ok() ? std::move(*graph) : Graph{};
}

std::string header(int head) {
  const std::string dims = "[1, 2, " + std::to_string(kLength) + ", " + std::to_string(head) + "]";
  return "graph g opset(\"\"=17)\ninput q: f32" + dims + "\ninput k: f32" + dims +
         "\ninput v: f32" + dims + "\ninput mask: f32[1, 1, 1, " + std::to_string(kLength) +
         "]\nconst s: f32[] = [0.01]\nconst z: i8[] = [0]\nconst c: f32[] = [0.25]\n"
         "const root: f32[] = [5]\n";
}

/// Softmax and what follows, from the scores on.
std::string rest(const std::string& scores, const std::string& v) {
  return "masked = Add(" + scores + ", mask)\np = Softmax(masked) {axis=-1}\ncontext = MatMul(p, " +
         v + ")\nt = Transpose(context) {perm=[0, 2, 1, 3]}\noutput t: f32[*]\n";
}

Graph in_float(int head) {
  return parsed(header(head) +
                "kt = Transpose(k) {perm=[0, 1, 3, 2]}\nscores = MatMul(q, kt)\n"
                "scaled = Div(scores, root)\n" +
                rest("scaled", "v"));
}

/// Q and DQ as quantizers that know nothing of attention place them: above scale and transpose, on
/// the scores, and none behind the softmax.
Graph half_coded(int head, const std::string& scale) {
  std::string text = header(head);
  for (const std::string x : {"q", "k", "v"})
    text += x + "q = QuantizeLinear(" + x + ", s, z)\n" + x + "d = DequantizeLinear(" + x +
            "q, s, z)\n";
  text += "qs = Mul(qd, " + scale +
          ")\nkt = Transpose(kd) {perm=[0, 1, 3, 2]}\n"
          "scores = MatMul(qs, kt)\nsq = QuantizeLinear(scores, s, z)\n"
          "sd = DequantizeLinear(sq, s, z)\n";
  return parsed(text + rest("sd", "vd"));
}

/// Values in [-1, 1]; the last key does not count.
std::vector<Tensor> inputs(int head) {
  std::vector<Tensor> out;
  for (int which = 0; which < 3; ++which) {
    std::vector<double> values(static_cast<size_t>(2 * kLength * head));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = std::sin(0.7 * static_cast<double>(i) + which);
    out.push_back(Tensor::from_doubles(DType::kFloat32, {1, 2, kLength, head}, values).value());
  }
  out.push_back(Tensor::of<float>({1, 1, 1, kLength}, {0, 0, 0, 0, 0, -10000}));
  return out;
}

RepairOptions options(AttentionForm form, int head, bool with_data) {
  RepairOptions out;
  out.attention = form;
  if (with_data)
    out.data = [head] {
      auto done = std::make_shared<bool>(false);
      return [head, done]() -> Result<std::optional<std::vector<Tensor>>> {
        if (*done) return std::optional<std::vector<Tensor>>();
        *done = true;
        return std::optional(inputs(head));
      };
    };
  return out;
}

double largest_change(const Graph& before, const Graph& after, int head) {
  const auto a = make_reference_executor(before).value()->run(inputs(head)).value();
  const auto b = make_reference_executor(after).value()->run(inputs(head)).value();
  double worst = 0;
  for (int64_t i = 0; i < a[0].count(); ++i)
    worst = std::max(worst, std::abs(a[0].at(i) - b[0].at(i)));
  return worst;
}

/// The precision of the one kernel that softmax and both products became; empty: not fused.
std::string kernel(const Graph& graph) {
  std::string out;
  int layers = 0;
  const std::vector<LayerForm> all = explain(graph, "tensorrt-10").value();
  for (const LayerForm& layer : all)
    if (!layer.fusion.empty()) {
      ++layers;
      out = layer.precision_name();
    }
  return layers >= 3 ? out : "";
}

std::vector<std::string> rules(const Repaired& repaired) {
  std::vector<std::string> out;
  for (const Change& change : repaired.changes)
    out.push_back(change.rule);
  return out;
}

TEST(RepairAttention, FloatAttentionGetsCodesAtAllFivePlaces) {
  const Graph before = in_float(32);
  EXPECT_EQ(kernel(before), ""); // the scale stands behind the scores
  const Repaired repaired =
      repair(before, "tensorrt-10", options(AttentionForm::kInt8, 32, true)).value();
  EXPECT_TRUE(accepted(repaired.left));
  EXPECT_EQ(kernel(repaired.graph), "int8");
  EXPECT_EQ(rules(repaired),
            (std::vector<std::string>{"scale_query", "place_attention", "place_attention",
                                      "place_attention", "place_attention", "place_attention"}));
  for (const Change& change : repaired.changes)
    if (change.rule == "place_attention") {
      EXPECT_TRUE(change.measured) << change.why;
      EXPECT_LE(change.max_error.value(), 0.01) << change.why;
    }
  // Probabilities to half a step of 1 / 127 over 5 keys, values and the output to half a step.
  EXPECT_LT(largest_change(before, repaired.graph, 32), 0.03);
  EXPECT_GT(largest_change(before, repaired.graph, 32), 0);
}

TEST(RepairAttention, WithoutDataNothingIsInvented) {
  const Repaired repaired =
      repair(in_float(32), "tensorrt-10", options(AttentionForm::kInt8, 32, false)).value();
  EXPECT_EQ(kernel(repaired.graph), "float"); // only the softmax has a range of its own
}

TEST(RepairAttention, CodesMoveDownToTheProducts) {
  for (const char* scale : {"c", "root"}) {
    SCOPED_TRACE(scale);
    const Graph before = half_coded(32, scale);
    EXPECT_EQ(kernel(before), "");
    const Repaired repaired =
        repair(before, "tensorrt-10", options(AttentionForm::kInt8, 32, false)).value();
    EXPECT_TRUE(accepted(repaired.left));
    EXPECT_EQ(kernel(repaired.graph), "int8");
    const auto exact = [&](const char* why) {
      const auto found =
          std::find_if(repaired.changes.begin(), repaired.changes.end(),
                       [&](const Change& c) { return c.why.find(why) != std::string::npos; });
      EXPECT_NE(found, repaired.changes.end()) << why;
      return found != repaired.changes.end() && found->exact;
    };
    EXPECT_FALSE(exact("moves down to before the first product, on Q")); // past the scale
    EXPECT_TRUE(exact("moves down to before the first product, on K"));
    EXPECT_FALSE(exact("Q/DQ behind the softmax"));
  }
}

TEST(RepairAttention, CodesAreTakenOutWhereFloatIsWantedOrNoKernelTakesThem) {
  for (const auto& [form, head] :
       {std::pair{AttentionForm::kFloat, 32}, std::pair{AttentionForm::kInt8, 48}}) {
    SCOPED_TRACE(head);
    // Everything at the products first, as the form without room for doubt.
    Graph placed = half_coded(32, "c");
    placed = repair(placed, "tensorrt-10", options(AttentionForm::kInt8, 32, false)).value().graph;
    const Graph before = head == 32 ? placed : half_coded(head, "c");
    const Repaired repaired = repair(before, "tensorrt-10", options(form, head, false)).value();
    EXPECT_TRUE(accepted(repaired.left));
    EXPECT_EQ(kernel(repaired.graph), "float");
    EXPECT_FALSE(repaired.changes.empty());
  }
}

TEST(RepairAttention, NothingChangesUnlessAsked) {
  const Repaired repaired = repair(half_coded(32, "c"), "tensorrt-10").value();
  EXPECT_TRUE(repaired.changes.empty());
}

} // namespace
} // namespace octet

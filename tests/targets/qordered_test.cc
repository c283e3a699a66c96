// SPDX-License-Identifier: Apache-2.0
// Encoders for ONNX Runtime's CUDA provider: which layers are placed, written as QOrdered operators
// and explained as such, and why the others are not. Beside the optimizer: qordered_peer.py.
#include <map>
#include <random>

#include "quant/prepare.h"
#include "quant/support.h"
#include "targets/tables.h"
#include <gtest/gtest.h>

#include "octet/bert.h"
#include "octet/executor.h"
#include "octet/export.h"
#include "octet/target.h"

namespace octet {
namespace {

constexpr const char* kCuda = "onnxruntime-cuda";

BertOptions encoder() {
  BertOptions o;
  o.vocabulary = 50;
  o.positions = 32;
  o.hidden = 32;
  o.layers = 2;
  o.heads = 2;
  o.intermediate = 64;
  o.head = BertHead::kClassification;
  o.initializer_range = 0.2;
  return o;
}

std::vector<Tensor> tokens(uint32_t seed, int64_t rows = 2, int64_t length = 16) {
  std::mt19937 random(seed);
  std::vector<int64_t> ids, mask, types;
  for (int64_t r = 0; r < rows; ++r) {
    const auto real = static_cast<int64_t>(4 + random() % 13);
    for (int64_t i = 0; i < length; ++i) {
      ids.push_back(1 + static_cast<int64_t>(random() % 49));
      mask.push_back(i < real ? 1 : 0);
      types.push_back(static_cast<int64_t>(random() % 2));
    }
  }
  const Shape shape = {rows, length};
  return {Tensor::of<int64_t>(shape, std::span<const int64_t>(ids)),
          Tensor::of<int64_t>(shape, std::span<const int64_t>(mask)),
          Tensor::of<int64_t>(shape, std::span<const int64_t>(types))};
}

CalibrationSource batches() {
  auto next = std::make_shared<uint32_t>(0);
  return [next]() -> Result<std::optional<std::vector<Tensor>>> {
    if (++*next > 6) return std::optional<std::vector<Tensor>>();
    return std::optional(tokens(*next));
  };
}

QuantizationPlan planned(const Graph& graph, QuantizeOptions options = {}) {
  options.target = kCuda;
  return plan_quantization(graph, batches(), options).value();
}

std::map<std::string, int> ordered_in(const Graph& graph) {
  std::map<std::string, int> out;
  for (const NodeId id : graph.nodes())
    if (graph.node(id).op_type.starts_with("QOrdered")) ++out[graph.node(id).op_type];
  return out;
}

std::map<std::string, int> explained(const Graph& graph) {
  std::map<std::string, int> out;
  const std::vector<LayerForm> layers = explain(graph, kCuda).value();
  for (const LayerForm& layer : layers)
    if (layer.form.starts_with("QOrdered")) ++out[layer.form];
  return out;
}

Tensor logits(const Graph& graph, const std::vector<Tensor>& inputs) {
  return make_reference_executor(graph).value()->run(inputs).value()[0];
}

/// Explained, written and run.
void expect_ordered(const Graph& graph,
                    const QuantizationPlan& plan,
                    const std::map<std::string, int>& want) {
  const Graph qdq = quantize(graph, plan).value();
  EXPECT_TRUE(accepted(check(qdq, kCuda).value()));
  EXPECT_EQ(explained(qdq), want);
  Graph ordered = qdq;
  const auto notes = convert_form(ordered, FileForm::kQOrdered);
  ASSERT_TRUE(notes.ok()) << notes.error().text();
  EXPECT_EQ(ordered_in(ordered), want);
  EXPECT_TRUE(accepted(check(ordered, kCuda).value()));
  EXPECT_FALSE(accepted(check(ordered, "onnxruntime").value()));
  for (const auto& [rows, length] : {std::pair<int64_t, int64_t>(3, 16), {1, 32}}) {
    const std::vector<Tensor> inputs = tokens(77, rows, length);
    const Tensor real = logits(graph, inputs), literal = logits(qdq, inputs),
                 fused = logits(ordered, inputs);
    EXPECT_GE(test::sqnr(literal, fused), 40);
    EXPECT_GE(test::sqnr(real, fused), 12);
    EXPECT_LE(test::sqnr(real, fused), 80) << "nothing was rounded";
  }
}

const std::map<std::string, int> kWhole = {{"QOrderedAttention", 2},
                                           {"QOrderedGelu", 2},
                                           {"QOrderedLayerNormalization", 3},
                                           {"QOrderedMatMul", 6}};

TEST(QOrdered, AWholeEncoder) {
  const Graph graph = make_bert(encoder()).value();
  expect_ordered(graph, planned(graph), kWhole);
  expect_ordered(graph, planned(graph, {.per_channel = false}), kWhole);
}

TEST(QOrdered, OperatorSet20) {
  BertOptions options = encoder();
  options.opset = 20;
  const Graph graph = make_bert(options).value();
  expect_ordered(graph, planned(graph), kWhole);
}

/// Only what is read in codes is rounded to them: the pooler and the classifier are float.
TEST(QOrdered, HeadsStayInFloat) {
  const Graph graph = make_bert(encoder()).value();
  const QuantizationPlan plan = planned(graph);
  for (const NodePlan& node : plan.nodes)
    if (node.node.find("pooler") != std::string::npos ||
        node.node.find("classifier") != std::string::npos) {
      EXPECT_FALSE(node.quantized) << node.node;
      EXPECT_FALSE(node.why.empty()) << node.node;
    }
}

TEST(QOrdered, ActivationsAreSymmetricWithOneScale) {
  const Graph graph = make_bert(encoder()).value();
  const QuantizationPlan plan = planned(graph);
  for (const TensorPlan& tensor : plan.tensors) {
    EXPECT_EQ(tensor.scheme.type, DType::kInt8) << tensor.value;
    EXPECT_TRUE(tensor.scheme.symmetric) << tensor.value;
  }
  const TensorPlan* shares = plan.tensor("encoder.0/attention/softmax");
  ASSERT_NE(shares, nullptr);
  EXPECT_EQ(shares->algorithm, "fixed");
  EXPECT_EQ(shares->ranges[0].hi, 1.0F);
}

/// The plan fits the graph that it was made for, by its names, though that is written anew first.
TEST(QOrdered, APlanFitsItsGraph) {
  const Graph graph = make_bert(encoder()).value();
  const QuantizationPlan plan = QuantizationPlan::from_json(planned(graph).to_json()).value();
  const PlanMismatch mismatch = compare_plan(graph, plan).value();
  EXPECT_TRUE(mismatch.same_graph);
  EXPECT_TRUE(mismatch.unmatched.empty());
  EXPECT_TRUE(mismatch.unplanned.empty());
  EXPECT_EQ(quantize(graph, plan).value().content_hash(),
            quantize(graph, planned(graph)).value().content_hash());
}

TEST(QOrdered, ArrangingKeepsTheNumbers) {
  const Graph graph = make_bert(encoder()).value();
  const auto placement = find_placement(kCuda).value();
  const Graph arranged = prepare_for_quantization(graph, *placement).value();
  const std::vector<Tensor> inputs = tokens(5, 3);
  EXPECT_GE(test::sqnr(logits(graph, inputs), logits(arranged, inputs)), 100);
  const Graph again = prepare_for_quantization(arranged, *placement).value();
  EXPECT_EQ(again.content_hash(), arranged.content_hash());
}

TEST(QOrdered, ExcludedLayersTakeTheirReadersWithThem) {
  const Graph graph = make_bert(encoder()).value();
  std::map<std::string, int> want = kWhole;
  want.erase("QOrderedAttention");
  expect_ordered(graph, planned(graph, {.exclude = {"Softmax"}}), want);
  want = {{"QOrderedAttention", 1},
          {"QOrderedGelu", 1},
          {"QOrderedLayerNormalization", 1},
          {"QOrderedMatMul", 3}};
  expect_ordered(graph, planned(graph, {.exclude = {"encoder.0"}}), want);
}

TEST(QOrdered, SaysWhyNot) {
  BertOptions heads = encoder(), tanh = encoder(), odd = encoder();
  heads.heads = 4;
  tanh.activation = BertActivation::kGeluTanh;
  odd.intermediate = 62;
  const struct {
    BertOptions options;
    const char *node, *why;
  } cases[] = {
      {heads, "encoder.0/attention/softmax", "its heads have 8 columns"},
      {tanh, "encoder.1/intermediate", "no layer behind it reads codes"},
      {odd, "encoder.0/output", "its weight is 62 by 32"},
  };
  for (const auto& c : cases) {
    const Graph graph = make_bert(c.options).value();
    const QuantizationPlan plan = planned(graph);
    const NodePlan* node = plan.node(c.node);
    ASSERT_NE(node, nullptr) << c.node;
    EXPECT_FALSE(node->quantized) << c.node;
    EXPECT_NE(node->why.find(c.why), std::string::npos) << node->why;
    const Graph qdq = quantize(graph, plan).value();
    Graph ordered = qdq;
    ASSERT_TRUE(convert_form(ordered, FileForm::kQOrdered).ok());
    EXPECT_EQ(explained(qdq), ordered_in(ordered));
  }
}

TEST(QOrdered, NoFileWithoutALayer) {
  const Graph graph = make_bert(encoder()).value();
  for (const char* target : {"octet", "tensorrt-10"}) {
    QuantizeOptions options;
    options.target = target;
    Graph other = quantize(graph, plan_quantization(graph, batches(), options).value()).value();
    const auto notes = convert_form(other, FileForm::kQOrdered);
    ASSERT_FALSE(notes.ok()) << target;
    EXPECT_EQ(notes.error().code(), ErrorCode::kRefused);
  }
}

} // namespace
} // namespace octet

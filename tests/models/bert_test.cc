// SPDX-License-Identifier: Apache-2.0
// The BERT builder: its graph's shape, names, parameters, heads and initial weights.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/string_util.h"
#include "graph/verify.h"
#include "ops/infer.h"
#include "ops/parameters.h"
#include "quant/place.h"
#include <gtest/gtest.h>

#include "octet/bert.h"
#include "octet/executor.h"
#include "octet/session.h"

namespace octet {
namespace {

BertOptions tiny(BertHead head) {
  BertOptions o;
  o.vocabulary = 50;
  o.positions = 16;
  o.hidden = 8;
  o.layers = 2;
  o.heads = 2;
  o.intermediate = 16;
  o.head = head;
  return o;
}

Tensor ids(Shape shape, std::vector<int64_t> values) {
  return Tensor::of<int64_t>(std::move(shape), std::span<const int64_t>(values));
}

/// Two rows of four tokens; the second one has two tokens and two of padding.
std::vector<Tensor> example() {
  return {ids({2, 4}, {1, 7, 3, 2, 1, 9, 0, 0}), ids({2, 4}, {1, 1, 1, 1, 1, 1, 0, 0}),
          ids({2, 4}, {0, 0, 1, 1, 0, 0, 0, 0})};
}

std::vector<Tensor> reference(const Graph& graph, const std::vector<Tensor>& inputs) {
  const auto executor = make_reference_executor(graph).value();
  Result<std::vector<Tensor>> out = executor->run(inputs);
  EXPECT_TRUE(out.ok()) << (out.ok() ? "" : out.error().text());
  return std::move(out).value();
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double worst = 0;
  for (int64_t i = 0; i < a.count(); ++i)
    worst = std::max(worst, std::abs(a.at(i) - b.at(i)));
  return worst;
}

std::map<std::string, int> counts(const Graph& graph) {
  std::map<std::string, int> out;
  for (const NodeId id : graph.nodes())
    ++out[graph.node(id).op_type];
  return out;
}

TEST(Bert, HasTypesForEveryLengthAndBatch) {
  const struct {
    BertHead head;
    bool gather;
    std::vector<std::string> outputs;
  } cases[] = {{BertHead::kNone, false, {"f32[N, S, 8]", "f32[N, 8]"}},
               {BertHead::kClassification, false, {"f32[N, 2]"}},
               {BertHead::kMaskedLm, false, {"f32[N, S, 50]"}},
               {BertHead::kPretraining, false, {"f32[N, S, 50]", "f32[N, 2]"}},
               {BertHead::kPretraining, true, {"f32[M, 50]", "f32[N, 2]"}}};
  for (const auto& c : cases) {
    BertOptions options = tiny(c.head);
    options.gather_masked = c.gather;
    Graph graph = make_bert(options).value();
    for (const ValueId id : graph.outputs())
      graph.set_type(id, {});
    const Status status = infer_types(graph, UnknownOp::kRefuse);
    ASSERT_TRUE(status.ok()) << status.error().text();
    EXPECT_TRUE(verify(graph).ok());
    ASSERT_EQ(graph.outputs().size(), c.outputs.size());
    for (size_t i = 0; i < c.outputs.size(); ++i)
      EXPECT_EQ(graph.value(graph.outputs()[i]).type.text(), c.outputs[i]);
  }
}

TEST(Bert, IsMadeOfTheOperatorsThatTargetsRecognize) {
  const auto ops = counts(make_bert(tiny(BertHead::kClassification)).value());
  EXPECT_EQ(ops.at("MatMul"), 2 * 8); // six products with weights and two of activations a layer
  EXPECT_EQ(ops.at("LayerNormalization"), 1 + 2 * 2);
  EXPECT_EQ(ops.at("Erf"), 2);
  EXPECT_EQ(ops.at("Softmax"), 2);
  EXPECT_EQ(ops.at("Gemm"), 2); // pooler and classifier
  BertOptions later = tiny(BertHead::kClassification);
  later.opset = 20;
  EXPECT_EQ(counts(make_bert(later).value()).at("Gelu"), 2);
}

TEST(Bert, HasAsManyParametersAsThePublishedModels) {
  // BERT base with pooler 109,482,240, its classifier of two 1,538 more; tiny 4,385,920 (arXiv
  // 1908.08962 and the published checkpoints). Counted without making base's 110 million weights.
  BertOptions o = bert_size("tiny").value();
  const Graph graph = make_bert(o).value();
  int64_t elements = 0;
  const auto parameters = trainable_parameters(graph).value();
  for (const Parameter& p : parameters)
    elements += graph.value(p.value).constant.count();
  EXPECT_EQ(elements, 4385920);
  for (const Parameter& p : parameters) {
    const std::string& name = graph.value(p.value).name;
    const Role want = name.ends_with(".bias")              ? Role::kBias
                      : name.ends_with("LayerNorm.weight") ? Role::kGain
                                                           : Role::kWeight;
    EXPECT_EQ(p.role, want) << name;
  }
}

TEST(Bert, NamesNodesForPatterns) {
  const Graph graph = make_bert(tiny(BertHead::kClassification)).value();
  std::set<std::string> products;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (glob_match("encoder.1*", node.name) && node.is("MatMul")) products.insert(node.name);
  }
  EXPECT_EQ(products,
            (std::set<std::string>{"encoder.1/attention/context", "encoder.1/attention/key",
                                   "encoder.1/attention/output", "encoder.1/attention/query",
                                   "encoder.1/attention/scores", "encoder.1/attention/value",
                                   "encoder.1/intermediate", "encoder.1/output"}));
  EXPECT_TRUE(graph.find_node("pooler").has_value());
  EXPECT_TRUE(graph.find_node("classifier").has_value());
}

TEST(Bert, TiesTheOutputWeightsToTheWordEmbeddings) {
  const Graph graph = make_bert(tiny(BertHead::kMaskedLm)).value();
  const ValueId words = *graph.find_value("bert.embeddings.word_embeddings.weight");
  EXPECT_EQ(Uses(graph).of(words).size(), 2U);
}

TEST(Bert, PaddingChangesNothing) {
  for (const BertHead head : {BertHead::kNone, BertHead::kPretraining}) {
    const Graph graph = make_bert(tiny(head)).value();
    const auto padded = reference(graph, example());
    const auto alone =
        reference(graph, {ids({1, 2}, {1, 9}), ids({1, 2}, {1, 1}), ids({1, 2}, {0, 0})});
    const int64_t width = padded[0].dim(2);
    for (int64_t i = 0; i < 2 * width; ++i)
      EXPECT_FLOAT_EQ(static_cast<float>(padded[0].at(4 * width + i)),
                      static_cast<float>(alone[0].at(i)));
    for (int64_t i = 0; i < alone[1].count(); ++i)
      EXPECT_FLOAT_EQ(static_cast<float>(padded[1].at(padded[1].dim(1) + i)),
                      static_cast<float>(alone[1].at(i)));
  }
}

TEST(Bert, GathersTheLogitsOfMaskedPositions) {
  BertOptions options = tiny(BertHead::kPretraining);
  const auto all = reference(make_bert(options).value(), example());
  options.gather_masked = true;
  std::vector<Tensor> inputs = example();
  inputs.push_back(ids({3}, {2, 1, 5}));
  const auto some = reference(make_bert(options).value(), inputs);
  ASSERT_EQ(some[0].shape(), (Shape{3, 50}));
  const int64_t rows[] = {2, 1, 5};
  for (int64_t m = 0; m < 3; ++m)
    for (int64_t v = 0; v < 50; ++v)
      EXPECT_EQ(some[0].at(m * 50 + v), all[0].at(rows[m] * 50 + v));
}

TEST(Bert, MeansTheSameInEveryForm) {
  for (const BertActivation activation :
       {BertActivation::kGelu, BertActivation::kGeluTanh, BertActivation::kRelu}) {
    BertOptions options = tiny(BertHead::kNone);
    options.initializer_range = 0.5;
    options.activation = activation;
    const auto want = reference(make_bert(options).value(), example());
    options.opset = 20;
    options.index_type = DType::kInt32;
    options.dropout = options.attention_dropout = 0;
    std::vector<Tensor> inputs;
    for (const Tensor& t : example())
      inputs.push_back(
          Tensor::from_doubles(DType::kInt32, t.shape(), t.to_doubles().value()).value());
    EXPECT_LT(largest_difference(want[0], reference(make_bert(options).value(), inputs)[0]), 1e-5);
  }
  BertOptions options = tiny(BertHead::kNone);
  std::vector<Tensor> inputs = example();
  inputs[2] = ids({2, 4}, std::vector<int64_t>(8, 0));
  const auto want = reference(make_bert(options).value(), inputs);
  options.token_type_input = false;
  inputs.pop_back();
  EXPECT_LT(largest_difference(want[0], reference(make_bert(options).value(), inputs)[0]), 1e-7);
}

TEST(Bert, RunsInTheNativeExecutor) {
  BertOptions options = tiny(BertHead::kPretraining);
  options.hidden = 32;
  options.initializer_range = 0.2;
  const Graph graph = make_bert(options).value();
  const auto native = make_native_executor(graph);
  ASSERT_TRUE(native.ok()) << native.error().text();
  const auto want = reference(graph, example());
  const auto got = (*native)->run(example());
  ASSERT_TRUE(got.ok()) << got.error().text();
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_LT(largest_difference(want[i], (*got)[i]), 1e-4);
}

TEST(Bert, HasInitialWeightsThatDependOnSeedAndNameAlone) {
  BertOptions options = tiny(BertHead::kNone);
  options.vocabulary = 20000;
  const Graph graph = make_bert(options).value();
  const Tensor w = *graph.constant(*graph.find_value("bert.embeddings.word_embeddings.weight"));
  double largest = 0, sum = 0, squares = 0;
  for (int64_t i = 0; i < w.count(); ++i) {
    largest = std::max(largest, std::abs(w.at(i)));
    sum += w.at(i);
    squares += w.at(i) * w.at(i);
  }
  const auto n = static_cast<double>(w.count());
  EXPECT_LE(largest, 0.04 * (1 + 1e-6));
  EXPECT_GT(largest, 0.0399);
  EXPECT_LT(std::abs(sum / n), 5 * 0.02 / std::sqrt(n));
  // A normal distribution cut at two deviations has 0.879626 of the deviation.
  EXPECT_NEAR(std::sqrt(squares / n) / 0.02, 0.879626, 0.005);

  options.head = BertHead::kClassification;
  const Graph other = make_bert(options).value();
  EXPECT_TRUE(
      other.constant(*other.find_value("bert.embeddings.word_embeddings.weight"))->identical(w));
  options.seed = 1;
  const Graph seeded = make_bert(options).value();
  EXPECT_FALSE(
      seeded.constant(*seeded.find_value("bert.embeddings.word_embeddings.weight"))->identical(w));
}

TEST(Bert, KeepsItsOptionsAndTakesAnotherHead) {
  BertOptions options = tiny(BertHead::kPretraining);
  options.seed = 5;
  const Graph lm = make_bert(options).value();
  BertOptions next = bert_options(lm).value();
  EXPECT_EQ(next.head, BertHead::kPretraining);
  EXPECT_EQ(next.intermediate, 16);
  EXPECT_EQ(next.seed, 5U);
  next.head = BertHead::kClassification;
  next.labels = {"no", "maybe", "yes"};
  const BertTransfer moved = rebuild_bert(lm, next).value();
  EXPECT_EQ(moved.fresh, (std::vector<std::string>{"classifier.weight", "classifier.bias"}));
  EXPECT_EQ(bert_options(moved.graph).value().labels, next.labels);
  const std::string query = "bert.encoder.layer.1.attention.self.query.weight";
  EXPECT_TRUE(moved.graph.constant(*moved.graph.find_value(query))
                  ->identical(*lm.constant(*lm.find_value(query))));
}

TEST(Bert, AnotherNumberOfClassesIsANewClassifier) {
  BertOptions o = tiny(BertHead::kClassification);
  o.labels = {"no", "yes"};
  const Graph two = make_bert(o).value();
  o.labels = {"bad", "fair", "good"};
  const BertTransfer three = rebuild_bert(two, o).value();
  EXPECT_EQ(three.fresh, (std::vector<std::string>{"classifier.weight", "classifier.bias"}));
}

TEST(Bert, RefusesWhatCannotBe) {
  BertOptions o = tiny(BertHead::kNone);
  o.heads = 3;
  EXPECT_EQ(make_bert(o).error().text(), "bert: hidden is 8, no multiple of the 3 heads");
  o = tiny(BertHead::kNone);
  o.dropout = -1;
  EXPECT_EQ(make_bert(o).error().text(), "bert: dropout is -1; it lies in [0, 1)");
  o = tiny(BertHead::kNone);
  o.gather_masked = true;
  EXPECT_FALSE(make_bert(o).ok());
  EXPECT_EQ(bert_size("bass").error().text(), "no BERT of size \"bass\"; did you mean \"base\"? "
                                              "(layers and hidden size are written 6x384)");
  const BertOptions any = bert_size("6x384").value();
  EXPECT_EQ(std::tie(any.layers, any.hidden, any.heads, any.intermediate),
            std::make_tuple(6, 384, 6, 1536));
  EXPECT_EQ(bert_size("1x48").value().heads, 1);
  EXPECT_EQ(bert_size("1x224").value().heads, 2); // 3 do not divide it
  for (const char* wrong : {"6x", "x384", "6x384x2", "0x64", "6x-1", "6 x 384"})
    EXPECT_FALSE(bert_size(wrong).ok()) << wrong;
}

} // namespace
} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// The CNN builder: the network of the first workflow, layer by layer, and its flags.
#include <algorithm>
#include <cmath>

#include "graph/verify.h"
#include "ops/infer.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/models.h"

namespace octet {
namespace {

std::vector<std::string> op_types(const Graph& graph) {
  std::vector<std::string> out;
  for (const NodeId id : graph.nodes())
    out.push_back(graph.node(id).op_type);
  return out;
}

TEST(Cnn, IsTheNetworkOfTheWorkflow) {
  Graph graph = make_cnn().value();
  EXPECT_EQ(op_types(graph),
            (std::vector<std::string>{"Conv", "Relu", "Conv", "Relu", "AveragePool", "Flatten",
                                      "Dropout", "Gemm", "Dropout", "Gemm", "Softmax"}));
  const Status status = infer_types(graph, UnknownOp::kRefuse);
  ASSERT_TRUE(status.ok()) << status.error().text();
  EXPECT_TRUE(verify(graph).ok());
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.text(), "f32[N, 10]");
  // 8 * 9 + 8, 64 * 8 * 9 + 64, 128 * 256 + 128, 10 * 128 + 10 parameters and two dropout ratios.
  int64_t elements = 0;
  for (const ValueId id : graph.constants())
    elements += graph.value(id).constant.count();
  EXPECT_EQ(elements, 80 + 4672 + 32896 + 1290 + 2);
}

TEST(Cnn, HasInitialWeightsWithinTheirBoundThatDependOnTheSeedAlone) {
  const Graph graph = make_cnn({.seed = 3}).value();
  const Tensor w = *graph.constant(*graph.find_value("fc1.weight"));
  double largest = 0, sum = 0;
  for (int64_t i = 0; i < w.count(); ++i) {
    largest = std::max(largest, std::abs(w.at(i)));
    sum += w.at(i);
  }
  EXPECT_LE(largest, 1.0 / 16);
  EXPECT_GT(largest, 0.99 / 16);
  // The mean of n uniform numbers in +-a has the deviation a / sqrt(3 n).
  EXPECT_LT(std::abs(sum / 32768), 5 / 16.0 / std::sqrt(3 * 32768.0));
  EXPECT_EQ(graph.content_hash(), make_cnn({.seed = 3}).value().content_hash());
  EXPECT_NE(graph.content_hash(), make_cnn({.seed = 4}).value().content_hash());
}

TEST(Cnn, FollowsItsFlags) {
  const Graph graph = make_cnn({.image_channels = 3,
                                .image_size = 32,
                                .channels1 = 4,
                                .channels2 = 6,
                                .hidden = 5,
                                .classes = 2,
                                .dropout = 0,
                                .hidden_relu = true,
                                .batch_norm = true,
                                .softmax = false})
                          .value();
  EXPECT_EQ(op_types(graph), (std::vector<std::string>{"Conv", "BatchNormalization", "Relu", "Conv",
                                                       "BatchNormalization", "Relu", "AveragePool",
                                                       "Flatten", "Gemm", "Relu", "Gemm"}));
  const auto executor = make_reference_executor(graph).value();
  const std::vector<Tensor> inputs = {Tensor::zeros(DType::kFloat32, {2, 3, 32, 32}).value()};
  const Result<std::vector<Tensor>> out = executor->run(inputs);
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[0].shape(), (Shape{2, 2}));
}

TEST(Cnn, HasSeparableBlocksInPlaceOfItsSecondHalf) {
  const Graph graph = make_cnn({.image_channels = 3,
                                .image_size = 33,
                                .channels1 = 4,
                                .classes = 7,
                                .dropout = 0,
                                .batch_norm = true,
                                .depthwise = {6, 10, 10},
                                .softmax = false})
                          .value();
  std::vector<std::string> want;
  for (int i = 0; i < 7; ++i) // the first convolution, and two of each block
    want.insert(want.end(), {"Conv", "BatchNormalization", "Relu"});
  want.insert(want.end(), {"GlobalAveragePool", "Flatten", "Gemm"});
  EXPECT_EQ(op_types(graph), want);
  Graph typed = graph;
  const Status status = infer_types(typed, UnknownOp::kRefuse);
  ASSERT_TRUE(status.ok()) << status.error().text();
  const auto type = [&](const char* name) {
    return typed.value(*typed.find_value(name)).type.text();
  };
  // Strides 2 of the first convolution and where a block behind the first widens, padded: 17, 9.
  EXPECT_EQ(type("block1/pointwise/active"), "f32[N, 6, 17, 17]");
  EXPECT_EQ(type("block2/depthwise/active"), "f32[N, 6, 9, 9]");
  EXPECT_EQ(type("block3/pointwise/active"), "f32[N, 10, 9, 9]");
  EXPECT_EQ(type("logits"), "f32[N, 7]");
  EXPECT_EQ(typed.constant(*typed.find_value("block2/depthwise.weight"))->shape(),
            (Shape{6, 1, 3, 3}));
  EXPECT_EQ(make_cnn({.depthwise = {8, 0}}).error().text(),
            "cnn: depthwise is 0; it lies in 1 .. 65536");
}

TEST(Cnn, RefusesWhatCannotBe) {
  EXPECT_EQ(make_cnn({.image_size = 14}).error().text(),
            "cnn: images of 14 x 14 pixels; from 15 x 15 to 4096 x 4096 fit");
  EXPECT_EQ(make_cnn({.channels2 = 0}).error().text(),
            "cnn: channels2 is 0; it lies in 1 .. 65536");
  EXPECT_FALSE(make_cnn({.dropout = 1}).ok());
}

} // namespace
} // namespace octet

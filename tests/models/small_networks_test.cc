// SPDX-License-Identifier: Apache-2.0
// The small networks, and outlier channels in a BERT.
#include <numeric>

#include "graph/verify.h"
#include "models/outliers.h"
#include "models/small_networks.h"
#include "ops/infer.h"
#include <gtest/gtest.h>

#include "octet/dataset.h"
#include "octet/executor.h"

namespace octet {
namespace {

Batch first_examples(const SmallNetwork& what) {
  const std::string data =
      what.task.empty() ? "generated" : "generated-tokens:" + std::string(what.task);
  std::vector<int64_t> indices(4);
  std::iota(indices.begin(), indices.end(), 0);
  return open_dataset(data, Split::kTest).value()->batch(indices).value();
}

Tensor logits_of(const Graph& graph, const Batch& batch) {
  const auto inputs = bind_inputs(graph, batch).value();
  return make_reference_executor(graph).value()->run(inputs).value().at(0);
}

TEST(SmallNetworks, AreGraphsThatTakeTheirData) {
  EXPECT_GE(small_networks().size(), 16U);
  for (const SmallNetwork& what : small_networks()) {
    Graph graph = make_small_network(what.name, 1).value();
    ASSERT_TRUE(verify(graph).ok()) << what.name;
    ASSERT_TRUE(infer_types(graph, UnknownOp::kRefuse).ok()) << what.name;
    EXPECT_EQ(logits_of(graph, first_examples(what)).shape(),
              (Shape{4, what.task.empty()      ? 10
                        : what.task == "count" ? 4
                                               : 2}))
        << what.name;
    bool norm = false;
    for (const NodeId id : graph.nodes())
      norm = norm || graph.node(id).is("BatchNormalization");
    EXPECT_EQ(norm, what.batch_norm) << what.name;
    EXPECT_EQ(graph.content_hash(), make_small_network(what.name, 1).value().content_hash());
    EXPECT_NE(graph.content_hash(), make_small_network(what.name, 2).value().content_hash());
  }
  EXPECT_FALSE(make_small_network("nobody", 1).ok());
}

TEST(Outliers, OfPowersOfTwoChangeNoBit) {
  for (const SmallNetwork& what : small_networks()) {
    if (what.family != "bert") continue;
    const Graph graph = make_small_network(what.name, 3).value();
    const auto changed = with_outlier_channels(graph, 4, 256);
    if (what.name != "bert-majority-relu") {
      ASSERT_FALSE(changed.ok());
      EXPECT_NE(changed.error().text().find("GELU"), std::string::npos);
      continue;
    }
    EXPECT_NE(changed->content_hash(), graph.content_hash());
    const Batch batch = first_examples(what);
    EXPECT_TRUE(logits_of(*changed, batch).identical(logits_of(graph, batch)));
    const Tensor* w =
        changed->constant(*changed->find_value("bert.encoder.layer.0.output.dense.weight"));
    const Tensor* old =
        graph.constant(*graph.find_value("bert.encoder.layer.0.output.dense.weight"));
    constexpr int64_t kWidth = 64;
    EXPECT_EQ(w->at(127 * kWidth), old->at(127 * kWidth) / 256);
    EXPECT_EQ(w->at(123 * kWidth), old->at(123 * kWidth));
    EXPECT_FALSE(with_outlier_channels(graph, 200, 2).ok());
    EXPECT_FALSE(with_outlier_channels(graph, 4, 0).ok());
  }
}

} // namespace
} // namespace octet

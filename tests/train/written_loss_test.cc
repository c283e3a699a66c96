// SPDX-License-Identifier: Apache-2.0
// A quantized network is trained as it is written: its loss at the end of training is that of the
// file, of few bits too, where a step of a bias is coarse.
#include "core/format.h"
#include "training_support.h"
#include <gtest/gtest.h>

#include "octet/quantize.h"

namespace octet {
namespace {

using test::must_train;
using test::reference_loss;
using test::Sectors;
using test::small_network;
using test::small_options;

double validation_loss(const TrainedModel& model) {
  return model.report.history.back().validation_loss;
}

TEST(WrittenLoss, IsTheLossAsTrained) {
  const Sectors data(400), unseen(300, 2);
  const Graph graph = small_network(0);
  for (const int bits : {2, 4, 8})
    for (const bool learned : {false, true}) {
      SCOPED_TRACE(fmt::format("{} bits, scales {}", bits, learned ? "learned" : "observed"));
      const QuantizationPlan plan =
          plan_quantization(graph, data, {.weight_bits = bits, .activation_bits = bits}).value();
      TrainOptions options = small_options();
      options.keep_best = false;
      if (learned) {
        options.weight_scales = WeightScales::kLearned;
        options.activation_scales = ActivationScales::kLearned;
      }
      const Graph prepared = quantize(graph, plan, WeightStorage::kFloat).value();
      const TrainedModel model = must_train(prepared, data, options, &unseen);
      const double trained = validation_loss(model);
      const double written =
          reference_loss(finalize_quantization(model.graph, plan).value(), unseen);
      EXPECT_NEAR(written, trained, 1e-4 * trained);
      EXPECT_NEAR(reference_loss(model.graph, unseen), trained, 1e-4 * trained);
    }
}

/// A bias that is frozen is computed with in whole steps too, and stays as it is in the graph.
TEST(WrittenLoss, HoldsForFrozenBiases) {
  const Sectors data(400), unseen(300, 2);
  const Graph graph = small_network(0);
  const QuantizationPlan plan =
      plan_quantization(graph, data, {.weight_bits = 3, .activation_bits = 2}).value();
  TrainOptions options = small_options();
  options.keep_best = false;
  options.freeze = {"b1", "b2"};
  const Graph prepared = quantize(graph, plan, WeightStorage::kFloat).value();
  const TrainedModel model = must_train(prepared, data, options, &unseen);
  const auto b1 = [](const Graph& g) { return *g.constant(*g.find_value("b1")); };
  EXPECT_TRUE(b1(model.graph).identical(b1(prepared)));
  const double written = reference_loss(finalize_quantization(model.graph, plan).value(), unseen);
  EXPECT_NEAR(written, validation_loss(model), 1e-4 * written);
}

} // namespace
} // namespace octet

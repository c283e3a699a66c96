// SPDX-License-Identifier: Apache-2.0
// What a search finds, beside all subsets of layers in float; that it goes on where it was stopped;
// and plans with layers in float beside the plans that they come from.
#include "quant/search/in_float.h"
#include "quant/search/recipes.h"
#include "quant/search/search.h"
#include "quant/search_support.h"
#include <gtest/gtest.h>

#include "octet/plan_steps.h"

namespace octet {
namespace {

using test::FakeSearch;
using test::TemporaryFile;

using Names = std::set<std::string>;

Names all_layers(const FakeSearch& search) {
  Names out;
  for (const auto& [layer, wrong] : search.damages.wrong)
    out.insert(layer);
  return out;
}

/// The least work of a network that loses no more than `most_wrong`, over all subsets.
double least_work(const FakeSearch& search, int64_t most_wrong) {
  const Names all = all_layers(search);
  const std::vector<std::string> names(all.begin(), all.end());
  double best = 1e9;
  for (uint32_t subset = 0; subset < 1U << names.size(); ++subset) {
    Names codes;
    for (size_t i = 0; i < names.size(); ++i)
      if ((subset >> i & 1U) != 0) codes.insert(names[i]);
    const Measured m = search.damages.measure(codes);
    if (1000 - m.right <= most_wrong) best = std::min(best, m.work);
  }
  return best;
}

TEST(SearchPlan, OfHarmlessCodesIsTheDefault) {
  FakeSearch search{.graph = test::chain(3),
                    .damages = {.wrong = {{"l0", 0}, {"l1", 1}, {"l2", 0}}}};
  const TemporaryFile file;
  const SearchResult found = search.run(file.path()).value();
  EXPECT_EQ(found.chosen, (PlanCandidate{"default", {}}));
  ASSERT_TRUE(found.plan.has_value());
  const auto plan =
      plan_quantization(search.graph, search.data, {.calibrator = Auto{}, .samples = 512}).value();
  EXPECT_EQ(found.plan->to_json(), plan.to_json());
  EXPECT_EQ(search.measured, 2);
  EXPECT_EQ(search.improvements, (std::vector<Names>{{}, {"l0", "l1", "l2"}}));
  ASSERT_EQ(found.layers.size(), 3U);
  EXPECT_EQ(found.layers[1].format, "int8");
}

TEST(SearchPlan, LeavesTheOneLayerInFloatThatRuinsIt) {
  FakeSearch search{.graph = test::chain(4),
                    .damages = {.wrong = {{"l0", 0}, {"l1", 0}, {"l2", 400}, {"l3", 2}}}};
  const TemporaryFile file;
  const SearchResult found = search.run(file.path()).value();
  EXPECT_EQ(found.chosen.in_float, Names{"l2"});
  EXPECT_EQ(test::in_codes(*found.quantized), (Names{"l0", "l1", "l3"}));
  const NodePlan* node = found.plan->node("l2");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->rule, Placed::kCostsAccuracy);
  EXPECT_NE(node->why.find("40.00 points"), std::string::npos) << node->why;
  // The plan says all of it: read again it gives the same network.
  const auto again = QuantizationPlan::from_json(found.plan->to_json()).value();
  EXPECT_EQ(quantize(search.graph, again).value().content_hash(), found.quantized->content_hash());
}

TEST(SearchPlan, NeedsTheLeastWorkOfAllSubsets) {
  const std::vector<std::vector<int64_t>> cases = {{9, 2, 30, 5, 0, 11}, {3, 3, 3, 3, 3, 3},
                                                   {0, 25, 0, 0, 26, 4}, {100, 90, 80, 0, 0, 6},
                                                   {8, 8, 0, 0, 7, 4},   {11, 0, 0, 0, 0, 0}};
  for (const std::vector<int64_t>& wrong : cases) {
    FakeSearch search{.graph = test::chain(6), .damages = {}};
    for (size_t i = 0; i < wrong.size(); ++i)
      search.damages.wrong["l" + std::to_string(i)] = wrong[i];
    const TemporaryFile file;
    const SearchResult found = search.run(file.path()).value();
    EXPECT_LE(1000 - found.measured.right, 10);
    // Of equal layers the damage decides, so that the fewest go; damages that share a layer's room
    // otherwise than by size may cost one layer more.
    EXPECT_LE(found.measured.work, least_work(search, 10) + 0.75 * search.damages.work)
        << testing::PrintToString(wrong);
    // And none of them could go back.
    for (const std::string& layer : found.chosen.in_float) {
      Names codes = test::in_codes(*found.quantized);
      codes.insert(layer);
      EXPECT_GT(1000 - search.damages.measure(codes).right, 10) << layer;
    }
  }
}

TEST(SearchPlan, KeepsTheFloatNetworkWhereNothingHolds) {
  FakeSearch search{.graph = test::chain(2), .damages = {.wrong = {{"l0", 100}, {"l1", 100}}}};
  const TemporaryFile file;
  const SearchResult found = search.run(file.path()).value();
  EXPECT_EQ(found.chosen.recipe, "float");
  EXPECT_FALSE(found.plan.has_value());
  EXPECT_FALSE(found.quantized.has_value());
  EXPECT_EQ(found.why, "no network with layers in codes holds the bar");
  EXPECT_EQ(search.improvements, std::vector<Names>{{}});
  for (const LayerFinding& layer : found.layers)
    EXPECT_EQ(layer.format, "float");
}

TEST(SearchPlan, IsStricterWhereHeldOutExamplesContradictIt) {
  FakeSearch search{.graph = test::chain(3),
                    .damages = {.wrong = {{"l0", 8}, {"l1", 0}, {"l2", 1}}}};
  search.check = [](const Graph& network) {
    const bool bad = test::in_codes(network).contains("l0");
    return HeldOut{
        .examples = 1000, .right_float = 950, .right = bad ? 930 : 948, .drop = bad ? 2.0 : 0.2};
  };
  const TemporaryFile file;
  const SearchResult found = search.run(file.path()).value();
  EXPECT_EQ(found.checks, 2);
  EXPECT_EQ(found.chosen.in_float, Names{"l0"});
  ASSERT_TRUE(found.held_out.has_value());
  EXPECT_EQ(found.held_out->right, 948);
}

TEST(SearchPlan, KeepsTheFloatNetworkWhereHeldOutExamplesContradictAll) {
  FakeSearch search{.graph = test::chain(3),
                    .damages = {.wrong = {{"l0", 8}, {"l1", 0}, {"l2", 1}}}};
  search.check = [](const Graph&) { return HeldOut{.examples = 1000, .drop = 2}; };
  const TemporaryFile file;
  const SearchResult found = search.run(file.path()).value();
  EXPECT_EQ(found.chosen.recipe, "float");
  EXPECT_LE(found.checks, 3);
  EXPECT_NE(found.why.find("held-out"), std::string::npos);
}

TEST(SearchPlan, TakesNoNetworkThatIsNoFaster) {
  FakeSearch search{.graph = test::chain(2),
                    .damages = {.wrong = {{"l0", 0}, {"l1", 0}}, .work = 0}};
  const TemporaryFile file;
  const SearchResult found = search.run(file.path()).value();
  EXPECT_EQ(found.chosen.recipe, "float");
  EXPECT_EQ(found.why, "what holds the bar is no faster than the float network");
}

TEST(SearchPlan, GoesOnWhereItWasStopped) {
  const auto fresh = [] {
    return FakeSearch{
        .graph = test::chain(5),
        .damages = {.wrong = {{"l0", 9}, {"l1", 30}, {"l2", 4}, {"l3", 0}, {"l4", 6}}}};
  };
  FakeSearch whole = fresh();
  const TemporaryFile undisturbed;
  const SearchResult want = whole.run(undisturbed.path()).value();
  ASSERT_GT(whole.measured, 8);
  const TemporaryFile file;
  int64_t measured = 0;
  for (int64_t stop = 1;; ++stop) {
    FakeSearch part = fresh();
    part.most_measurements = 1;
    const auto found = part.run(file.path());
    measured += part.measured;
    if (!found.ok()) {
      EXPECT_EQ(found.error().code(), ErrorCode::kCancelled);
      ASSERT_LT(stop, 100);
      continue;
    }
    EXPECT_EQ(found->chosen, want.chosen);
    EXPECT_EQ(found->plan->to_json(), want.plan->to_json());
    EXPECT_EQ(found->quantized->content_hash(), want.quantized->content_hash());
    break;
  }
  EXPECT_EQ(measured, whole.measured) << "something was measured twice";
}

TEST(SearchPlan, EndsWithItsBudgetAndGoesOnWithALargerOne) {
  FakeSearch search{.graph = test::chain(3),
                    .damages = {.wrong = {{"l0", 0}, {"l1", 0}, {"l2", 0}}}};
  search.budget = 1e-12;
  const TemporaryFile file;
  const SearchResult ended = search.run(file.path()).value();
  EXPECT_TRUE(ended.budget_ended);
  EXPECT_EQ(ended.chosen.recipe, "float");
  EXPECT_EQ(search.measured, 1);
  search.budget = 0;
  const SearchResult found = search.run(file.path()).value();
  EXPECT_FALSE(found.budget_ended);
  EXPECT_EQ(found.chosen.recipe, "default");
  EXPECT_EQ(search.measured, 2);
}

TEST(Recipes, NameWhatOptionsTake) {
  const std::vector<std::string> steps = step_names();
  Names names;
  for (const Recipe& recipe : recipes()) {
    EXPECT_TRUE(names.insert(std::string(recipe.name)).second) << recipe.name;
    EXPECT_EQ(find_recipe(recipe.name), &recipe);
    EXPECT_TRUE(parse_calibrator(recipe.calibrator).ok()) << recipe.name;
    EXPECT_TRUE(parse_calibrator(recipe.weight_calibrator).ok()) << recipe.name;
    if (recipe.step.empty()) continue;
    EXPECT_EQ(std::count(steps.begin(), steps.end(), recipe.step), 1) << recipe.name;
  }
  EXPECT_EQ(recipes().front().use, RecipeUse::kDefault);
  EXPECT_EQ(find_recipe("float"), nullptr) << "that is the network as it came";
}

// Plans with layers in float.

struct PlannedAgain {
  QuantizationPlan base, part;
  Graph quantized;
};

PlannedAgain planned_again(const Graph& graph,
                           const QuantizeOptions& options,
                           const Names& in_float,
                           const OpenCalibration& open) {
  const auto placement = find_placement(options.target).value();
  PlannedAgain out{.base = test::planned(graph, open, options), .part = {}, .quantized = {}};
  out.part = plan_in_float({graph, *placement, options, open}, out.base, in_float).value();
  out.quantized = quantize(graph, out.part).value();
  return out;
}

TEST(PlanInFloat, KeepsTheRangesOfWhatStaysInCodes) {
  const Graph graph = test::chain(4);
  const auto open = test::calibration({16, 8}, 4);
  const PlannedAgain r = planned_again(graph, {.calibrator = Mse{}}, {"l1"}, open);
  EXPECT_EQ(test::in_codes(r.quantized), (Names{"l0", "l2", "l3"}));
  EXPECT_EQ(r.part.tensor("w1"), nullptr);
  int compared = 0;
  for (const TensorPlan& tensor : r.part.tensors) {
    const TensorPlan* base = r.base.tensor(tensor.value);
    if (base == nullptr) continue;
    EXPECT_EQ(tensor.ranges, base->ranges) << tensor.value;
    EXPECT_EQ(tensor.algorithm, base->algorithm) << tensor.value;
    ++compared;
  }
  EXPECT_GE(compared, 5);
  // With nothing in float it is the plan itself.
  EXPECT_EQ(planned_again(graph, {.calibrator = Mse{}}, {}, open).part.to_json(), r.base.to_json());
}

TEST(PlanInFloat, IsWhatPlanningWithoutTheLayerGives) {
  const Graph graph = test::chain(4);
  const auto open = test::calibration({16, 8}, 4);
  const PlannedAgain r = planned_again(graph, {.calibrator = Mse{}}, {"l0", "l2"}, open);
  const QuantizationPlan excluded =
      test::planned(graph, open, {.calibrator = Mse{}, .exclude = {"l0", "l2"}});
  EXPECT_EQ(r.quantized.content_hash(), quantize(graph, excluded).value().content_hash());
}

TEST(PlanInFloat, DropsStepsOfTheLayer) {
  const Graph graph = test::chain(3);
  const auto open = test::calibration({16, 8}, 4);
  const QuantizeOptions options{
      .calibrator = MinMax{}, .weight_bits = 4, .steps = {"smooth", "adaround"}};
  const PlannedAgain r = planned_again(graph, options, {"l1"}, open);
  const auto has = [](const QuantizationPlan& plan, const std::string& id) {
    return std::any_of(plan.steps.begin(), plan.steps.end(),
                       [&](const PlanStep& step) { return step.id == id; });
  };
  ASSERT_TRUE(has(r.base, "adaround/l1"));
  EXPECT_FALSE(has(r.part, "adaround/l1"));
  EXPECT_TRUE(has(r.part, "adaround/l2"));
  EXPECT_EQ(test::in_codes(r.quantized), (Names{"l0", "l2"}));
  // A step of the float network stays, and it is still that network: what its Mul takes away the
  // weights give back.
  const Tensor x = test::random_tensor({32, 8}, 77);
  EXPECT_GT(test::sqnr(test::run_reference(graph, x), test::run_reference(r.quantized, x)), 10);
}

TEST(PlanInFloat, ObservesWhatComesIntoCodes) {
  // Two convolutions and their sum: the second adds codes of the first to its own sums, so that its
  // output has no range before the first is in float.
  const Graph graph = test::with_weights(R"(graph g opset(""=17)
input x: f32[4, 3, 6, 6]
const a: f32[3, 3, 1, 1] = ?
const b: f32[3, 3, 1, 1] = ?
const c: f32[3, 3, 1, 1] = ?
p = Conv(x, a) "first"
q = Conv(x, b) "second"
s = Add(p, q) "sum"
y = Conv(s, c) "last"
output y: f32[4, 3, 6, 6]
)");
  const auto open = test::calibration({4, 3, 6, 6}, 3);
  const QuantizationPlan plan = test::planned(graph, open, {.calibrator = MinMax{}});
  Names layers;
  for (const NodePlan& node : plan.nodes)
    if (node.quantized) layers.insert(node.node);
  const auto placement = find_placement("octet").value();
  const QuantizeOptions options{.calibrator = MinMax{}};
  const Tensor x = test::random_tensor({4, 3, 6, 6}, 5);
  for (const std::string& layer : layers) {
    const auto part = plan_in_float({graph, *placement, options, open}, plan, {layer});
    ASSERT_TRUE(part.ok()) << part.error().text();
    const Graph quantized = quantize(graph, *part).value();
    EXPECT_GT(test::sqnr(test::run_reference(graph, x), test::run_reference(quantized, x)), 20)
        << layer;
  }
  EXPECT_FALSE(plan_in_float({graph, *placement, options, open}, plan, {"third"}).ok());
}

TEST(PlanInFloat, TakesOtherModesAndTargets) {
  const Graph graph = test::chain(3);
  const auto open = test::calibration({16, 8}, 4);
  for (const char* target : {"octet", "onnxruntime", "tensorrt-10"}) {
    const PlannedAgain r =
        planned_again(graph, {.target = target, .calibrator = Entropy{}}, {"l1"}, open);
    EXPECT_FALSE(r.part.node("l1")->quantized) << target;
    EXPECT_TRUE(r.part.node("l2")->quantized) << target;
  }
  const PlannedAgain dynamic =
      planned_again(graph, {.mode = QuantMode::kDynamic, .calibrator = MinMax{}}, {"l1"}, open);
  EXPECT_EQ(dynamic.part.node("l1")->rule, Placed::kCostsAccuracy);
  EXPECT_EQ(dynamic.part.node("l2")->rule, Placed::kDynamic);
}

} // namespace
} // namespace octet

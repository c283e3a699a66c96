// SPDX-License-Identifier: Apache-2.0
// What a search finds, beside all subsets of layers in float; that it goes on where it was stopped;
// and plans with layers in float beside the plans that they come from.
#include "quant/apply.h"
#include "quant/search/changed_plan.h"
#include "quant/search/layer_choices.h"
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

/// Of a chain: the layer takes ranges at every run.
bool is_dynamic(const Graph& graph, const std::string& layer) {
  const auto weight = graph.find_value("w" + layer.substr(1) + "_quantized");
  const std::vector<const Node*> products = test::nodes_of(graph, "QDynamicGemm");
  return std::any_of(products.begin(), products.end(),
                     [&](const Node* node) { return weight && node->input(1) == *weight; });
}

TEST(SearchPlan, TakesOtherCodesForTheLayerThatRuinsIt) {
  FakeSearch search{.graph = test::chain(4),
                    .damages = {.wrong = {{"l0", 0}, {"l1", 0}, {"l2", 400}, {"l3", 2}}}};
  search.is_harmless = is_dynamic;
  const TemporaryFile file;
  const SearchResult found = search.run(file.path()).value();
  // The recipe "dynamic" cures it too, of all layers, and costs the same in this world: a network of
  // one choice is looked for only where no recipe does.
  EXPECT_EQ(found.chosen, PlanCandidate{"dynamic"});

  search.is_harmless = [](const Graph& graph, const std::string& layer) {
    return is_dynamic(graph, layer) && !is_dynamic(graph, "l0");
  };
  const TemporaryFile other;
  const SearchResult mixed = search.run(other.path()).value();
  EXPECT_EQ(mixed.chosen, (PlanCandidate{"default", {}, {{"l2", "dynamic"}}}));
  EXPECT_EQ(mixed.measured.work, 1) << "four layers of a quarter";
  const NodePlan* node = mixed.plan->node("l2");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->rule, Placed::kDynamic);
  EXPECT_NE(node->why.find("40.00 points"), std::string::npos) << node->why;
  std::map<std::string, std::string> formats;
  for (const LayerFinding& layer : mixed.layers)
    formats[layer.node] = layer.format;
  EXPECT_EQ(formats["l2"], "dynamic int8");
  EXPECT_EQ(formats["l0"], "int8");
  const auto again = QuantizationPlan::from_json(mixed.plan->to_json()).value();
  EXPECT_EQ(quantize(search.graph, again).value().content_hash(), mixed.quantized->content_hash());
}

TEST(SearchPlan, ChoosesForEachLayerWhatCuresIt) {
  // One layer is cured by ranges at every run, one by weights alone, one by nothing.
  FakeSearch search{
      .graph = test::chain(5),
      .damages = {.wrong = {{"l0", 0}, {"l1", 90}, {"l2", 80}, {"l3", 70}, {"l4", 0}}, .work = 1}};
  search.is_harmless = [](const Graph& graph, const std::string& layer) {
    if (is_dynamic(graph, "l0")) return false;
    return layer == "l1" ? is_dynamic(graph, layer)
                         : layer == "l2" && test::weight_type(graph, layer) == DType::kInt4;
  };
  const TemporaryFile file;
  const SearchResult found = search.run(file.path()).value();
  EXPECT_EQ(found.chosen,
            (PlanCandidate{"default", {"l3"}, {{"l1", "dynamic"}, {"l2", "int4-weights"}}}));
  EXPECT_EQ(found.measured.right, 1000);
}

TEST(SearchPlan, OfSizeIsTheSmallestThatHolds) {
  FakeSearch search{.graph = test::chain(4, 64),
                    .damages = {.wrong = {{"l0", 0}, {"l1", 0}, {"l2", 300}, {"l3", 1}}},
                    .goal = Goal::kSize,
                    .data = test::Rows(test::random_tensor({64, 64}, 1))};
  const TemporaryFile all_hold;
  search.is_harmless = [](const Graph&, const std::string&) { return true; };
  const SearchResult small = search.run(all_hold.path()).value();
  EXPECT_EQ(small.chosen, PlanCandidate{"int4-weights"});
  // Half a byte and an eighth of one for scales, of four.
  EXPECT_EQ(small.float_network.bytes, 4 * 64 * 64 * 4);
  EXPECT_LT(small.measured.bytes, small.float_network.bytes * 0.17);

  // Where 4 bits spoil a layer it gets 8, where those do too it stays in float.
  for (const bool eight_cure : {true, false}) {
    const TemporaryFile file;
    search.is_harmless = [&](const Graph& graph, const std::string& layer) {
      return layer != "l2" || (eight_cure && test::weight_type(graph, layer) != DType::kInt4);
    };
    const SearchResult found = search.run(file.path()).value();
    const PlanCandidate want = eight_cure
                                   ? PlanCandidate{"int4-weights", {}, {{"l2", "int8-weights"}}}
                                   : PlanCandidate{"int4-weights", {"l2"}};
    EXPECT_EQ(found.chosen, want);
    EXPECT_EQ(found.measured.right, 1000);
    for (const SearchTrial& trial : found.trials)
      EXPECT_TRUE(!trial.holds || trial.measured.bytes >= found.measured.bytes)
          << trial.candidate.recipe;
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

TEST(SearchPlan, FindsTheFewLayersThatMayBeInCodes) {
  // Six of seven spoil it: the last doubling would leave none in codes.
  FakeSearch search{.graph = test::chain(7), .damages = {}};
  for (int i = 0; i < 7; ++i)
    search.damages.wrong["l" + std::to_string(i)] = i == 3 ? 0 : 60;
  const TemporaryFile file;
  const SearchResult found = search.run(file.path()).value();
  EXPECT_EQ(test::in_codes(*found.quantized), Names{"l3"});
  EXPECT_EQ(found.chosen.in_float.size(), 6U);
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
  search.check = [](const Graph&) {
    return HeldOut{.examples = 1000, .right_float = 940, .right = 920, .drop = 2};
  };
  const TemporaryFile file;
  const SearchResult found = search.run(file.path()).value();
  EXPECT_EQ(found.chosen.recipe, "float");
  EXPECT_LE(found.checks, 3);
  ASSERT_TRUE(found.held_out.has_value()); // of the float network
  EXPECT_EQ(found.held_out->examples, 1000);
  EXPECT_EQ(found.held_out->right, 940);
  EXPECT_EQ(found.held_out->right_float, 940);
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
    EXPECT_TRUE(recipe.weights.empty() || parse_number_format(recipe.weights).ok()) << recipe.name;
    if (recipe.step.empty()) continue;
    EXPECT_EQ(std::count(steps.begin(), steps.end(), recipe.step), 1) << recipe.name;
  }
  for (const LayerChoice& choice : layer_choices()) {
    EXPECT_TRUE(names.insert(std::string(choice.name)).second ||
                find_recipe(choice.name) != nullptr);
    EXPECT_EQ(find_layer_choice(choice.name), &choice);
    EXPECT_TRUE(choice.calibrator.empty() || parse_calibrator(choice.calibrator).ok());
    for (const std::string_view format : {choice.weights, choice.activations})
      EXPECT_TRUE(format.empty() || parse_number_format(format).ok()) << choice.name;
    EXPECT_TRUE(choice.step.empty() || std::count(steps.begin(), steps.end(), choice.step) == 1);
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
  out.part = plan_changed({graph, *placement, options, open}, out.base, {"", in_float}).value();
  out.quantized = quantize(graph, out.part).value();
  return out;
}

TEST(PlanChanged, KeepsTheRangesOfWhatStaysInCodes) {
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

TEST(PlanChanged, IsWhatPlanningWithoutTheLayerGives) {
  const Graph graph = test::chain(4);
  const auto open = test::calibration({16, 8}, 4);
  const PlannedAgain r = planned_again(graph, {.calibrator = Mse{}}, {"l0", "l2"}, open);
  const QuantizationPlan excluded =
      test::planned(graph, open, {.calibrator = Mse{}, .exclude = {"l0", "l2"}});
  EXPECT_EQ(r.quantized.content_hash(), quantize(graph, excluded).value().content_hash());
}

TEST(PlanChanged, DropsStepsOfTheLayer) {
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

TEST(PlanChanged, TakesEachChoiceOnEachTarget) {
  const std::map<std::string, std::string> formats = {
      {"gptq", "int8"},
      {"adaround", "int8"},
      {"correct-bias", "int8"},
      {"min-max", "int8"},
      {"percentile", "int8"},
      {"entropy", "int8"},
      {"mse", "int8"},
      {"dynamic", "dynamic int8"},
      {"fp8", "fp8-e4m3fn"},
      {"int16-activations", "int8 weights, int16 activations"},
      {"int4-weights", "int4/32 weights"},
      {"int8-weights", "int8 weights"},
      {"fp8-weights", "fp8-e4m3fn weights"}};
  const Graph graph = test::chain(4, 32);
  const auto open = test::calibration({16, 32}, 4);
  const Tensor x = test::random_tensor({8, 32}, 6), want = test::run_reference(graph, x);
  std::map<std::string, Names> taken;
  for (const char* target : {"octet", "onnxruntime", "tensorrt-10.13", "tensorrt-8.6"}) {
    const auto placement = find_placement(target).value();
    const QuantizeOptions options{.target = target, .calibrator = Mse{}};
    const QuantizationPlan base = test::planned(graph, open, options);
    for (const LayerChoice& choice : layer_choices()) {
      const std::string chosen(choice.name);
      ASSERT_TRUE(formats.contains(chosen)) << chosen;
      if (!can_choose(choice, *placement, options)) continue;
      const auto part =
          plan_changed({graph, *placement, options, open}, base, {"", {}, {{"l1", chosen}}});
      if (!choice.step.empty() && !part.ok()) {
        EXPECT_EQ(part.error().code(), ErrorCode::kRefused) << part.error().text();
        continue;
      }
      ASSERT_TRUE(part.ok()) << target << " " << chosen << ": " << part.error().text();
      taken[target].insert(chosen);
      EXPECT_EQ(format_text(graph, *part, *part->node("l1")), formats.at(chosen)) << target;
      EXPECT_EQ(format_text(graph, *part, *part->node("l3")), "int8") << target;
      EXPECT_EQ(part->tensor("w3")->ranges, base.tensor("w3")->ranges);
      const Graph quantized = quantize(graph, *part).value();
      EXPECT_GT(test::sqnr(want, test::run_reference(quantized, x)),
                choice.name == "int4-weights" ? 12 : 20)
          << target << " " << chosen;
      // The plan says all of it.
      const auto again = QuantizationPlan::from_json(part->to_json()).value();
      EXPECT_EQ(quantize(graph, again).value().content_hash(), quantized.content_hash());
    }
  }
  for (const char* name :
       {"min-max", "percentile", "dynamic", "fp8", "int16-activations", "int4-weights"})
    EXPECT_TRUE(taken["octet"].contains(name)) << name;
  EXPECT_TRUE(taken["onnxruntime"].contains("dynamic"));
  EXPECT_TRUE(taken["tensorrt-10.13"].contains("fp8"));
  EXPECT_FALSE(taken["tensorrt-10.13"].contains("dynamic"));
  EXPECT_FALSE(taken["tensorrt-8.6"].contains("fp8"));
  EXPECT_FALSE(taken["tensorrt-8.6"].contains("int4-weights"));
}

TEST(PlanChanged, TakesRangesOfAChoiceAnew) {
  const Graph graph = test::chain(3);
  const auto open = test::calibration({16, 8}, 4);
  const auto placement = find_placement("octet").value();
  const QuantizeOptions options{.calibrator = Percentile{90}};
  const QuantizationPlan base = test::planned(graph, open, options);
  const QuantizationPlan min_max = test::planned(graph, open, {.calibrator = MinMax{}});
  const auto part =
      plan_changed({graph, *placement, options, open}, base, {"", {}, {{"l1", "min-max"}}}).value();
  int anew = 0;
  for (const TensorPlan& tensor : part.tensors) {
    const bool changed = tensor.ranges != base.tensor(tensor.value)->ranges;
    anew += changed ? 1 : 0;
    EXPECT_TRUE(!changed || tensor.ranges == min_max.tensor(tensor.value)->ranges) << tensor.value;
  }
  EXPECT_EQ(anew, 1);
}

TEST(PlanChanged, FormatsOfActivationsAreForAllThatReadThem) {
  const Graph graph = test::with_weights(R"(graph g opset(""=19)
input x: f32[4, 8]
const a: f32[8, 8] = ?
const b: f32[8, 8] = ?
const c: f32[8, 8] = ?
p = MatMul(x, a) "p"
q = MatMul(x, b) "q"
s = MatMul(p, c) "s"
output q: f32[4, 8]
output s: f32[4, 8]
)");
  const auto open = test::calibration({4, 8}, 4);
  const auto placement = find_placement("octet").value();
  const QuantizeOptions options{.calibrator = MinMax{}};
  const QuantizationPlan base = test::planned(graph, open, options);
  EXPECT_EQ(readers_with(graph, base, "p"), (Names{"p", "q"}));
  EXPECT_EQ(readers_with(graph, base, "s"), Names{"s"});
  const PlanSource source{graph, *placement, options, open};
  const auto one = plan_changed(source, base, {"", {}, {{"p", "fp8"}}});
  ASSERT_FALSE(one.ok());
  EXPECT_NE(one.error().text().find("one format for both"), std::string::npos);
  const auto both = plan_changed(source, base, {"", {}, {{"p", "fp8"}, {"q", "fp8"}}}).value();
  EXPECT_EQ(format_text(graph, both, *both.node("q")), "fp8-e4m3fn");
  // A layer cannot be in float and something else.
  EXPECT_FALSE(plan_changed(source, base, {"", {"p"}, {{"p", "dynamic"}}}).ok());
  EXPECT_FALSE(plan_changed(source, base, {"", {}, {{"p", "no such"}}}).ok());
  EXPECT_FALSE(plan_changed(source, base, {"", {}, {{"t", "dynamic"}}}).ok());
}

TEST(PlanChanged, KeepsCorrectedBiasesOfSums) {
  // The bias of a MatMul is that of the Add behind it, which is in float anyway.
  const Graph graph = test::with_weights(R"(graph g opset(""=19)
input x: f32[2, 4, 8]
const a: f32[8, 8] = ?
const b: f32[8] = ?
const c: f32[8, 8] = ?
const d: f32[8] = ?
p = MatMul(x, a) "p"
q = Add(p, b) "q"
r = MatMul(q, c) "r"
s = Add(r, d) "s"
output s: f32[2, 4, 8]
)");
  const auto open = test::calibration({2, 4, 8}, 4);
  const QuantizeOptions options{
      .calibrator = MinMax{}, .weight_bits = 3, .steps = {"correct-bias"}};
  const PlannedAgain r = planned_again(graph, options, {"p"}, open);
  ASSERT_EQ(r.base.steps.size(), 2U);
  ASSERT_EQ(r.part.steps.size(), 1U);
  EXPECT_EQ(r.part.steps.front().id, "correct-bias/s");
}

TEST(PlanChanged, DynamicIsWhatTheDynamicModeMakes) {
  const Graph graph = test::chain(3);
  const auto open = test::calibration({16, 8}, 4);
  for (const char* target : {"octet", "onnxruntime"}) {
    const LayerFormat layer{.pattern = "l1", .dynamic = true};
    const QuantizationPlan one = test::planned(
        graph, open,
        {.target = target, .calibrator = MinMax{}, .include = {"l1"}, .layers = {layer}});
    const QuantizationPlan mode = test::planned(
        graph, open, {.target = target, .mode = QuantMode::kDynamic, .include = {"l1"}});
    EXPECT_EQ(quantize(graph, one).value().content_hash(),
              quantize(graph, mode).value().content_hash())
        << target;
    EXPECT_FALSE(check_trains(one).ok());
  }
  const auto refused =
      plan_quantization(graph, test::Rows(test::random_tensor({16, 8}, 1)),
                        {.target = "tensorrt-10", .layers = {{.pattern = "l1", .dynamic = true}}});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().text().find("no dynamic quantization"), std::string::npos);
}

TEST(PlanChanged, ObservesWhatComesIntoCodes) {
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
    const auto part = plan_changed({graph, *placement, options, open}, plan, {"", {layer}});
    ASSERT_TRUE(part.ok()) << part.error().text();
    const Graph quantized = quantize(graph, *part).value();
    EXPECT_GT(test::sqnr(test::run_reference(graph, x), test::run_reference(quantized, x)), 20)
        << layer;
  }
  EXPECT_FALSE(plan_changed({graph, *placement, options, open}, plan, {"", {"third"}}).ok());
}

TEST(PlanChanged, TakesOtherModesAndTargets) {
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

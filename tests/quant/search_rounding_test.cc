// SPDX-License-Identifier: Apache-2.0
// Which codes of few bits a search for the smallest network looks for, in which order, and what it
// does where nothing learns.
#include <algorithm>

#include "quant/rounding_learner.h"
#include "quant/scheme.h"
#include "quant/search/recipes.h"
#include "quant/search_support.h"
#include <gtest/gtest.h>

namespace octet {
namespace {

using test::FakeSearch;
using test::FlippingLearner;
using test::TemporaryFile;

using Words = std::vector<std::string>;

const Words kRounded = {"int4-gptq", "int4-adaround", "int4-reconstruct"};

bool is_rounded(const std::string& recipe) {
  return std::count(kRounded.begin(), kRounded.end(), recipe) > 0;
}

/// A search for size over layers that 4 bits spoil but for the codes of one recipe; those of the
/// others spare the first layer.
struct RoundedSearch : FakeSearch {
  explicit RoundedSearch(std::string good)
      : FakeSearch{.graph = test::chain(3),
                   .damages = {.wrong = {{"l0", 30}, {"l1", 40}, {"l2", 30}}},
                   .goal = Goal::kSize} {
    is_harmless = [this, good = std::move(good)](const Graph& graph, const std::string& layer) {
      const std::string recipe = asked.back().substr(0, asked.back().find(','));
      return test::weight_type(graph, layer) != DType::kInt4 || recipe == good ||
             (is_rounded(recipe) && layer == "l0");
    };
    learner = [this]() -> Result<LearnRounding> {
      ++loaded;
      return LearnRounding(FlippingLearner(64));
    };
  }
  RoundedSearch(const RoundedSearch&) = delete;
  RoundedSearch& operator=(const RoundedSearch&) = delete;

  /// Recipes of kRounded that were planned and measured.
  Words tried() const {
    Words out;
    std::copy_if(asked.begin(), asked.end(), std::back_inserter(out), is_rounded);
    return out;
  }

  int64_t loaded = 0;
};

TEST(SearchRounding, TriesCodesByWhatTheyTakeToFindUntilSomeHold) {
  for (size_t good = 0; good <= kRounded.size(); ++good) {
    const std::string recipe = good == 0 ? "int4-weights" : kRounded[good - 1];
    RoundedSearch search(recipe);
    const TemporaryFile file;
    const SearchResult found = search.run(file.path()).value();
    EXPECT_EQ(found.chosen, PlanCandidate{recipe});
    EXPECT_EQ(search.tried(),
              Words(kRounded.begin(), kRounded.begin() + static_cast<std::ptrdiff_t>(good)));
    EXPECT_EQ(search.loaded, recipe == "int4-reconstruct" ? 1 : 0) << recipe;
    EXPECT_TRUE(found.left_out.empty());
    const auto again = QuantizationPlan::from_json(found.plan->to_json()).value();
    EXPECT_EQ(quantize(search.graph, again).value().content_hash(),
              found.quantized->content_hash());
  }
}

TEST(SearchRounding, LooksForNoneWhereLayersAreAsSmall) {
  // One layer in 8 bits is a half more of it: 2.5 % of twenty layers and 4.2 % of twelve.
  for (const int layers : {20, 12}) {
    FakeSearch search{.graph = test::chain(layers), .damages = {}, .goal = Goal::kSize};
    for (int i = 0; i < layers; ++i)
      search.damages.wrong["l" + std::to_string(i)] = i == 5 ? 40 : 0;
    search.is_harmless = [](const Graph& graph, const std::string& layer) {
      return test::weight_type(graph, layer) != DType::kInt4;
    };
    const TemporaryFile file;
    const SearchResult found = search.run(file.path()).value();
    EXPECT_EQ(found.chosen, (PlanCandidate{"int4-weights", {}, {{"l5", "int8-weights"}}}));
    EXPECT_EQ(std::count_if(search.asked.begin(), search.asked.end(), is_rounded),
              layers == 20 ? 0 : 1);
  }
}

TEST(SearchRounding, LearnsWhatItSays) {
  RoundedSearch search("int4-reconstruct");
  const TemporaryFile file;
  const SearchResult found = search.run(file.path()).value();
  QuantizeOptions options = with_recipe({}, *find_recipe("int4-reconstruct"));
  options.learn_rounding = FlippingLearner(64);
  const auto plan = plan_quantization(search.graph, search.data, options).value();
  ASSERT_FALSE(plan.steps.empty());
  EXPECT_EQ(found.plan->to_json(), plan.to_json());
}

TEST(SearchRounding, TakesTheClosestOfThoseApart) {
  RoundedSearch search("none of them");
  search.is_harmless = [&](const Graph& graph, const std::string& layer) {
    if (test::weight_type(graph, layer) != DType::kInt4) return true;
    const bool closest = search.asked.back().starts_with("int4-adaround");
    return closest ? layer != "l1" : layer == "l0" && !search.asked.back().starts_with("int4-w");
  };
  const TemporaryFile file;
  const SearchResult found = search.run(file.path()).value();
  EXPECT_EQ(search.tried(), kRounded);
  EXPECT_EQ(found.chosen, (PlanCandidate{"int4-adaround", {}, {{"l1", "int8-weights"}}}));
}

TEST(SearchRounding, LeavesOutWhatNothingLearns) {
  for (const bool refuses : {false, true}) {
    RoundedSearch search("int4-reconstruct");
    const auto learner = search.learner;
    search.learner = {};
    if (refuses)
      search.learner = []() -> Result<LearnRounding> {
        return Error("built without it", ErrorCode::kUnsupported);
      };
    const TemporaryFile file;
    const auto run = [&] {
      search.asked.clear();
      return search.run(file.path()).value();
    };
    const SearchResult without = run();
    EXPECT_EQ(search.tried(), (Words{"int4-gptq", "int4-adaround"}));
    ASSERT_EQ(without.left_out.size(), 1U);
    EXPECT_EQ(without.left_out.front().first, "int4-reconstruct");
    EXPECT_NE(without.left_out.front().second.find(refuses ? "built without it" : "gradients"),
              std::string::npos);
    EXPECT_NE(without.chosen.recipe, "int4-reconstruct");
    // A build that learns goes on with what was measured, and one that does not may come after it.
    const auto lacking = search.learner;
    search.learner = learner;
    EXPECT_EQ(run().chosen, PlanCandidate{"int4-reconstruct"});
    EXPECT_EQ(search.tried(), Words{"int4-reconstruct"});
    search.learner = lacking;
    const SearchResult again = run();
    EXPECT_EQ(again.left_out, without.left_out);
    EXPECT_EQ(again.chosen, without.chosen);
    EXPECT_TRUE(search.tried().empty());
  }
}

TEST(SearchRounding, LeavesOutWhatGainsNothing) {
  RoundedSearch search("int4-reconstruct");
  search.learner = []() -> Result<LearnRounding> { return LearnRounding(FlippingLearner(0)); };
  const TemporaryFile file;
  const SearchResult found = search.run(file.path()).value();
  ASSERT_EQ(found.left_out.size(), 1U);
  EXPECT_NE(found.left_out.front().second.find("no step of it helps"), std::string::npos);
}

TEST(SearchRounding, GoesOnWhereItWasStopped) {
  RoundedSearch whole("int4-reconstruct");
  const TemporaryFile undisturbed;
  const SearchResult want = whole.run(undisturbed.path()).value();
  const TemporaryFile file;
  int64_t measured = 0;
  for (int64_t stop = 1;; ++stop) {
    RoundedSearch part("int4-reconstruct");
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

TEST(SearchRounding, EndsBeforeItLearnsWhereTheBudgetIsSpent) {
  RoundedSearch search("int4-reconstruct");
  search.budget = 1e-12;
  const TemporaryFile file;
  const SearchResult found = search.run(file.path()).value();
  EXPECT_TRUE(found.budget_ended);
  EXPECT_EQ(search.loaded, 0);
}

TEST(SearchRounding, LooksForNoDearerCodesWhereOthersGainNothing) {
  RoundedSearch search("int4-reconstruct");
  search.is_harmless = [](const Graph& graph, const std::string& layer) {
    return test::weight_type(graph, layer) != DType::kInt4;
  };
  const TemporaryFile file;
  const SearchResult found = search.run(file.path()).value();
  EXPECT_EQ(search.tried(), Words{"int4-gptq"});
  EXPECT_EQ(search.loaded, 0);
  const std::string why = "with int4-gptq the outputs are no closer than with nearest codes";
  EXPECT_EQ(found.left_out, (std::vector<std::pair<std::string, std::string>>{
                                {"int4-adaround", why}, {"int4-reconstruct", why}}));
  EXPECT_EQ(found.chosen, PlanCandidate{"int8-weights"});
}

/// A journal in which each whole network but those that are learned took so many seconds, and 4 bits
/// spoil it.
void write_journal(const std::string& path, double seconds) {
  auto journal = Journal::open(path, "fake").value();
  for (const char* name :
       {"float", "default", "int4-weights", "int8-weights", "int4-gptq", "int4-adaround"}) {
    const std::string recipe = name;
    const bool few = recipe.starts_with("int4"), coded = recipe != "float";
    ASSERT_TRUE(journal
                    .append({"trial",
                             {recipe},
                             {{"right", few ? 900 : 1000},
                              {"noise", recipe == "int4-weights" ? 1e-3
                                        : coded                  ? 1e-6
                                                                 : 0},
                              {"work", coded ? 1 : 3},
                              {"bytes", few ? 100 : 800},
                              {"seconds", seconds}}})
                    .ok());
  }
}

TEST(SearchRounding, BeginsNothingThatTheBudgetHasNoTimeFor) {
  // Six networks of 50 seconds; what adaround took is what is left, or not.
  for (const bool has_time : {true, false}) {
    RoundedSearch search("int4-reconstruct");
    search.budget = has_time ? 360 : 340;
    const TemporaryFile file;
    write_journal(file.path(), 50);
    const SearchResult found = search.run(file.path()).value();
    EXPECT_EQ(search.tried(), has_time ? Words{"int4-reconstruct"} : Words{});
    EXPECT_EQ(found.chosen.recipe == "int4-reconstruct", has_time);
    EXPECT_EQ(search.loaded, has_time ? 1 : 0);
    if (has_time) continue;
    EXPECT_EQ(found.left_out,
              (std::vector<std::pair<std::string, std::string>>{
                  {"int4-reconstruct", "it takes longer than int4-adaround, which took 50 s, and "
                                       "the budget has 40 s left"}}));
  }
}

TEST(SearchRounding, IsForFewBits) {
  for (const Recipe& recipe : recipes()) {
    if (recipe.use != RecipeUse::kSmallerRounded && !recipe.learns()) continue;
    ASSERT_FALSE(recipe.weights.empty()) << recipe.name;
    EXPECT_LE(scheme_of(parse_number_format(recipe.weights).value(), {}).bits, 4) << recipe.name;
    EXPECT_FALSE(recipe.step.empty()) << recipe.name;
  }
}

} // namespace
} // namespace octet

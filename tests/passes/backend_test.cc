// SPDX-License-Identifier: Apache-2.0
// Every model of ONNX's backend tests that the reference runs, simplified: as it stands, and with
// all inputs but the first as constants, which is what folds. The outputs stay: bit for bit where
// every step says that it is exact, else within what the tests' makers allow.
#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include "support/backend.h"
#include "support/expectations.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/onnx.h"
#include "octet/passes.h"

namespace octet {
namespace {

using test::BackendCase;

/// The graph with its inputs from the second on made constants.
Graph with_constants(const Graph& graph, const std::vector<Tensor>& inputs) {
  Graph out = graph;
  const std::vector<ValueId> ids = out.inputs();
  for (size_t i = 1; i < ids.size(); ++i)
    out.set_constant(ids[i], inputs[i]);
  out.set_inputs({ids[0]});
  return out;
}

bool draws_random_numbers(const Graph& graph) {
  static const std::set<std::string> random = {
      "Bernoulli",     "Dropout",          "Multinomial",      "RandomNormal",
      "RandomUniform", "RandomNormalLike", "RandomUniformLike"};
  const std::set<std::string> operators = test::operators_of(graph);
  return std::any_of(operators.begin(), operators.end(),
                     [&](const std::string& op) { return random.contains(op); });
}

class SimplifiedBackend : public ::testing::Test {
 protected:
  void compare(const std::string& name, const Graph& before, const std::vector<Tensor>& inputs) {
    SCOPED_TRACE(name);
    auto reference = make_reference_executor(before);
    if (!reference.ok()) return;
    const auto want = (*reference)->run(inputs);
    if (!want.ok()) return;
    Graph after = before;
    const auto steps = simplify(after);
    ASSERT_TRUE(steps.ok()) << steps.error().text();
    auto executor = make_reference_executor(after);
    ASSERT_TRUE(executor.ok()) << executor.error().text();
    const auto have = (*executor)->run(inputs);
    ASSERT_TRUE(have.ok()) << have.error().text();
    ASSERT_EQ(have->size(), want->size());
    const bool exact = std::all_of(steps->begin(), steps->end(),
                                   [](const Step& s) { return s.exactness == Exactness::kExact; });
    for (size_t k = 0; k < want->size(); ++k) {
      if (exact)
        EXPECT_TRUE((*have)[k].identical((*want)[k])) << "output " << k;
      else
        EXPECT_EQ(test::difference((*have)[k], (*want)[k]), "") << "output " << k;
    }
    ++compared_;
    for (const Step& s : *steps)
      ++rules_[s.rule];
  }

  int compared_ = 0;
  std::map<std::string, int> rules_;
};

TEST_F(SimplifiedBackend, OutputsStay) {
  if (!test::backend_missing().empty()) GTEST_SKIP() << test::backend_missing();
  for (const BackendCase& c : test::backend_cases()) {
    const Result<Graph> graph = load_onnx(c.model());
    if (!graph.ok() || draws_random_numbers(*graph)) continue;
    for (const std::string& data_set : c.data_sets) {
      const auto inputs = test::read_tensors(BackendCase::files(data_set, "input"));
      if (!inputs.ok() || inputs->size() != graph->inputs().size()) continue;
      compare(test::full_name(c), *graph, *inputs);
      if (inputs->size() > 1)
        compare(test::full_name(c) + " held", with_constants(*graph, *inputs), {inputs->front()});
    }
  }
  EXPECT_GT(compared_, 1000);
  std::cout << compared_ << " models keep their outputs; steps:";
  for (const auto& [rule, times] : rules_)
    std::cout << " " << rule << " " << times << ",";
  std::cout << "\n";
}

} // namespace
} // namespace octet

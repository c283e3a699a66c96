// SPDX-License-Identifier: Apache-2.0
// What tests of rules share: one rule to its fixed point, and numbers before and after.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "graph/label.h"
#include "passes/simplify/rules.h"
#include "passes/standardize/standard_operators.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"

namespace octet::test {

inline Graph parse(std::string_view text) {
  Result<Graph> graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << (graph.ok() ? "" : graph.error().text());
  return graph.ok() ? std::move(*graph) : Graph{};
}

inline std::string printed(const Graph& graph) {
  return print(graph, {.max_elements = 64, .types = false});
}

/// Applies rules until none matches.
inline std::vector<Step> apply(Graph& graph, std::initializer_list<RuleFn*> list) {
  std::vector<Rule> rules;
  for (RuleFn* rule : list)
    rules.push_back({"the_rule", rule});
  Result<std::vector<Step>> steps =
      rewrite(graph, rules, {.max_steps = -1, .log = {}, .verify = VerifyAfter::kSteps});
  EXPECT_TRUE(steps.ok()) << (steps.ok() ? "" : steps.error().text());
  return steps.ok() ? std::move(*steps) : std::vector<Step>{};
}

/// One tensor for each input, `size` for open sizes: floats in [-1, 1), integers 0 or 1.
inline std::vector<Tensor> random_inputs(const Graph& graph, int64_t size = 3) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<double> draw(-1, 1);
  std::vector<Tensor> out;
  for (const ValueId id : graph.inputs()) {
    const TypeInfo& type = graph.value(id).type;
    Shape shape;
    for (const Dim& d : *type.shape)
      shape.push_back(d.maybe_value().value_or(size));
    std::vector<double> values(static_cast<size_t>(element_count(shape).value()));
    for (double& v : values)
      v = is_float(type.type) ? draw(generator) : static_cast<double>(generator() % 2);
    out.push_back(Tensor::from_doubles(type.type, shape, values).value());
  }
  return out;
}

/// Runs both by the reference. A tolerance of 0 asks for the same bits.
inline void expect_same_numbers(const Graph& before, const Graph& after, double tolerance) {
  const std::vector<Tensor> inputs = random_inputs(before);
  const auto a = make_reference_executor(before).value()->run(inputs);
  const auto b = make_reference_executor(after).value()->run(inputs);
  ASSERT_TRUE(a.ok()) << a.error().text();
  ASSERT_TRUE(b.ok()) << b.error().text();
  ASSERT_EQ(a->size(), b->size());
  for (size_t k = 0; k < a->size(); ++k) {
    ASSERT_EQ((*a)[k].shape(), (*b)[k].shape());
    if (tolerance == 0) {
      EXPECT_TRUE((*a)[k].identical((*b)[k])) << "output " << k;
      continue;
    }
    for (int64_t i = 0; i < (*a)[k].count(); ++i)
      EXPECT_NEAR((*a)[k].at(i), (*b)[k].at(i), tolerance) << "output " << k << " at " << i;
  }
}

/// Every operator becomes one of ai.onnx, with the same numbers up to `tolerance`.
inline void expect_standard(const Graph& before, double tolerance) {
  Graph after = before;
  const auto steps = rewrite(after, standard_operator_rules(),
                             {.max_steps = -1, .log = {}, .verify = VerifyAfter::kSteps});
  ASSERT_TRUE(steps.ok()) << steps.error().text();
  EXPECT_FALSE(steps->empty());
  for (const NodeId id : after.nodes())
    EXPECT_EQ(after.node(id).domain, "") << label(after, after.node(id));
  expect_same_numbers(before, after, tolerance);
}

} // namespace octet::test

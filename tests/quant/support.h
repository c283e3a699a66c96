// SPDX-License-Identifier: Apache-2.0
// Graphs and data that the quantization tests share.
#pragma once

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "quant/plan.h"
#include "targets/tables.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"
#include "octet/models.h"
#include "octet/quantize.h"

namespace octet::test {

inline Tensor random_tensor(Shape shape, uint32_t seed, float lo = -1, float hi = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> draw(lo, hi);
  std::vector<float> values(static_cast<size_t>(element_count(shape).value()));
  for (float& v : values)
    v = draw(generator);
  return Tensor::of<float>(std::move(shape), std::span<const float>(values));
}

/// A graph from its text, where "= ?" stands for random weights.
inline Graph with_weights(std::string text) {
  std::vector<std::string> names;
  for (size_t at = text.find("= ?"); at != std::string::npos; at = text.find("= ?")) {
    const size_t line = text.rfind("const ", at) + 6;
    names.push_back(text.substr(line, text.find(':', line) - line));
    const size_t shape = text.rfind('[', at);
    int64_t count = 1;
    for (size_t i = shape; text[i] != ']'; i = text.find_first_of(",]", i + 1))
      count *= std::stoll(text.substr(i + 1));
    std::string zeros = "0";
    for (int64_t i = 1; i < count; ++i)
      zeros += ", 0";
    text.replace(at, 3, "= [" + zeros + "]");
  }
  Graph graph = parse_graph(text).value();
  for (const std::string& name : names) {
    const ValueId id = *graph.find_value(name);
    graph.set_constant(id,
                       random_tensor(graph.constant(id)->shape(), static_cast<uint32_t>(id.index)));
  }
  return graph;
}

/// `batches` random tensors for a graph with one input.
inline CalibrationSource
random_source(const Shape& shape, int batches, float lo = -1, float hi = 1, uint32_t seed = 100) {
  auto next = std::make_shared<int>(0);
  return [=]() -> Result<std::optional<std::vector<Tensor>>> {
    if (*next >= batches) return std::optional<std::vector<Tensor>>();
    const auto n = static_cast<uint32_t>((*next)++);
    return std::optional(std::vector<Tensor>{random_tensor(shape, seed + n, lo, hi)});
  };
}

/// The same each time that it is opened.
inline OpenCalibration
calibration(const Shape& shape, int batches, float lo = -1, float hi = 1, uint32_t seed = 100) {
  return [=]() -> Result<CalibrationSource> { return random_source(shape, batches, lo, hi, seed); };
}

inline QuantizationPlan
planned(const Graph& graph, const OpenCalibration& open, const QuantizeOptions& options) {
  const auto placement = find_placement(options.target).value();
  const auto plan = make_plan(graph, *placement, open, options, 0);
  EXPECT_TRUE(plan.ok()) << plan.error().text();
  return plan.value();
}

inline Graph cnn(const CnnOptions& options = {}) {
  return make_cnn(options).value();
}
inline CalibrationSource cnn_data() {
  return random_source({8, 1, 28, 28}, 3, -0.8F, 2.0F);
}

inline Tensor run_reference(const Graph& graph, const Tensor& x) {
  auto executor = make_reference_executor(graph).value();
  return executor->run(std::vector<Tensor>{x}).value().at(0);
}

/// The output of a layer where its weights alone are `weights`.
inline Tensor layer_output(const Graph& prepared,
                           const std::string& layer,
                           const std::optional<Tensor>& weights,
                           const Tensor& x) {
  Graph graph = prepared;
  const Node& node = graph.node(*graph.find_node(layer));
  const ValueId out = node.output(0);
  if (weights) graph.set_constant(node.input(1), *weights);
  graph.set_outputs({out});
  graph.remove_dead();
  return run_reference(graph, x);
}

/// 10 log10 of signal power over noise power.
inline double sqnr(const Tensor& signal, const Tensor& other) {
  double power = 0;
  double noise = 0;
  for (int64_t i = 0; i < signal.count(); ++i) {
    power += signal.at(i) * signal.at(i);
    noise += (signal.at(i) - other.at(i)) * (signal.at(i) - other.at(i));
  }
  return 10 * std::log10(power / noise);
}

inline std::vector<const Node*> nodes_of(const Graph& graph, std::string_view op) {
  std::vector<const Node*> out;
  for (const NodeId id : graph.nodes())
    if (graph.node(id).op_type == op) out.push_back(&graph.node(id));
  return out;
}

inline int64_t constant_bytes(const Graph& graph) {
  int64_t sum = 0;
  for (const ValueId id : graph.constants())
    sum += static_cast<int64_t>(graph.value(id).constant.bytes().size());
  return sum;
}

} // namespace octet::test

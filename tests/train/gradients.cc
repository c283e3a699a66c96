// SPDX-License-Identifier: Apache-2.0
#include "gradients.h"

#include <cmath>

#include "support/differences.h"
#include "train/executor/torch_executor.h"

#include "octet/graph_text.h"

namespace octet::test {
std::string text_of(const GradientProblem& p) {
  std::string text = "graph g opset(\"\"=" + std::to_string(p.opset) + ", \"com.microsoft\"=1)\n";
  for (const auto& [name, shape] : p.inputs)
    text += "input " + name + ": f64" + to_string(shape) + "\n";
  return text + p.body + "\noutput y: f64[*]\n";
}

void expect_values_of_reference(const GradientProblem& p, DType type) {
  std::string text = text_of(p);
  const std::string wide = "f64[", wanted = std::string(name(type)) + "[";
  for (size_t at = text.find(wide); at != std::string::npos; at = text.find(wide, at + 1))
    text.replace(at, wide.size(), wanted);
  Result<Graph> graph = parse_graph(text);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  const auto reference = make_reference_executor(*graph);
  ASSERT_TRUE(reference.ok()) << reference.error().text();
  const auto torch = train::make_torch_executor(*graph, {.threads = 1});
  ASSERT_TRUE(torch.ok()) << torch.error().text();
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    const Tensor exact = random_tensor(p.inputs[i].second, p.low, p.high, i);
    const std::vector<double> values = exact.to_doubles().value();
    inputs.push_back(Tensor::from_doubles(type, exact.shape(), values).value());
  }
  const Result<std::vector<Tensor>> expected = (*reference)->run(inputs);
  ASSERT_TRUE(expected.ok()) << expected.error().text();
  const Result<std::vector<Tensor>> got = (*torch)->run(inputs);
  ASSERT_TRUE(got.ok()) << got.error().text();
  ASSERT_EQ((*got)[0].type(), (*expected)[0].type());
  ASSERT_EQ((*got)[0].shape(), (*expected)[0].shape());
  // Some roundings of the type.
  const double share = type == DType::kFloat64   ? 1e-12
                       : type == DType::kFloat32 ? 1e-5
                       : type == DType::kFloat16 ? 2e-3
                                                 : 2e-2;
  for (int64_t i = 0; i < (*expected)[0].count(); ++i) {
    const double want = (*expected)[0].at(i);
    if ((*got)[0].at(i) == want) continue; // also infinite
    ASSERT_NEAR((*got)[0].at(i), want, share * std::max(1.0, std::abs(want))) << "y[" << i << "]";
  }
}

void expect_gradients_of_reference(const GradientProblem& p) {
  Result<Graph> graph = parse_graph(text_of(p));
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  Result<std::unique_ptr<Executor>> reference = make_reference_executor(*graph);
  ASSERT_TRUE(reference.ok()) << reference.error().text();

  GradientRequest request;
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    request.inputs.push_back(random_tensor(p.inputs[i].second, p.low, p.high, i));
    request.wrt.push_back(p.inputs[i].first);
  }
  const Result<std::vector<Tensor>> forward = (*reference)->run(request.inputs);
  ASSERT_TRUE(forward.ok()) << forward.error().text();
  request.output_gradients = {random_tensor((*forward)[0].shape(), -1, 1, 100)};
  const Result<std::vector<Tensor>> gradients = train::graph_gradients(*graph, request);
  ASSERT_TRUE(gradients.ok()) << gradients.error().text();

  constexpr double kStep = 1e-5;
  for (size_t i = 0; i < p.inputs.size(); ++i) {
    for (int64_t k = 0; k < request.inputs[i].count(); ++k) {
      const auto value_at = [&](double change) {
        std::vector<Tensor> inputs = request.inputs;
        inputs[i] = moved(inputs[i], k, change);
        return weighted_sum(**reference, inputs, request.output_gradients).value();
      };
      const double expected = (value_at(kStep) - value_at(-kStep)) / (2 * kStep);
      // Truncation is of the order of kStep^2, rounding of 2^-53 / kStep.
      ASSERT_NEAR((*gradients)[i].at(k), expected, 1e-6 * std::max(1.0, std::abs(expected)))
          << p.inputs[i].first << "[" << k << "]";
    }
  }
}

std::string name_of(const testing::TestParamInfo<GradientProblem>& info) {
  return info.param.name;
}

} // namespace octet::test

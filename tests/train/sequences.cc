// SPDX-License-Identifier: Apache-2.0
#include "sequences.h"

#include <algorithm>

#include "core/philox.h"
#include "training_support.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"

namespace octet::test {

Sequences::Sequences(int64_t count, uint64_t seed) : count_(count), seed_(seed) {
  features_.emplace_back(
      "x",
      TypeInfo{DType::kFloat32, std::vector<Dim>{Dim::symbol("N"), Dim::symbol("S"), Dim(2)}, {}});
}

Result<Batch> Sequences::batch(std::span<const int64_t> indices) const {
  const auto n = static_cast<int64_t>(indices.size());
  int64_t longest = 0;
  for (const int64_t i : indices)
    longest = std::max(longest, length(i));
  Tensor x = OCTET_TRY(Tensor::zeros(DType::kFloat32, {n, longest, 2}));
  Tensor signs = OCTET_TRY(Tensor::zeros(DType::kInt64, {n, longest}));
  Tensor labels = OCTET_TRY(Tensor::zeros(DType::kInt64, {n}));
  std::ranges::fill(signs.mutable_data<int64_t>(), -100);
  for (int64_t row = 0; row < n; ++row) {
    const int64_t index = indices[static_cast<size_t>(row)];
    Philox random(seed_, static_cast<uint64_t>(index));
    double sum = 0;
    for (int64_t s = 0; s < length(index); ++s) {
      const auto at = static_cast<size_t>(row * longest + s);
      const double a = random.uniform(-1, 1), b = random.uniform(-1, 1);
      x.mutable_data<float>()[2 * at] = static_cast<float>(a);
      x.mutable_data<float>()[2 * at + 1] = static_cast<float>(b);
      if (s % 3 != 2) signs.mutable_data<int64_t>()[at] = a > b ? 1 : 0;
      sum += a;
    }
    labels.mutable_data<int64_t>()[static_cast<size_t>(row)] = sum > 0 ? 1 : 0;
  }
  Batch out;
  out.inputs.emplace_back("x", std::move(x));
  out.labels = std::move(labels);
  out.targets.emplace_back("signs", std::move(signs));
  return out;
}

Graph sequence_network() {
  Result<Graph> graph = parse_graph(
      "graph g opset(\"\"=17)\ninput x: f32[N, S, 2]\n" + weights("w1", "[2, 16]", 32, 1, 17) +
      weights("w2", "[16, 2]", 32, 3, 17) + weights("b2", "[2]", 2, 4, 17) +
      weights("w3", "[2, 16]", 32, 5, 17) + weights("b3", "[2]", 2, 6, 17) +
      "const axis: i64[1] = [1]\nh = MatMul(x, w1)\nr = Relu(h)\nt = MatMul(r, "
      "w2)\nsign_logits = Add(t, "
      "b2)\n"
      "p = ReduceSum(r, axis) {keepdims=0}\nsum_logits = Gemm(p, w3, b3) {transB=1}\n"
      "output sign_logits: f32[N, S, 2]\noutput sum_logits: f32[N, 2]\n");
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  return std::move(*graph);
}

TrainOptions sequence_options() {
  TrainOptions o = small_options();
  o.losses = {{.output = "sign_logits", .target = "signs"},
              {.output = "sum_logits", .target = {}, .weight = 0.5}};
  o.optimizer = {.kind = OptimizerKind::kAdamW, .lr = 0.02, .weight_decay = 0.01};
  o.schedule = {.kind = ScheduleKind::kLinear, .warmup_fraction = 0.1};
  return o;
}

} // namespace octet::test

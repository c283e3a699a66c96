// SPDX-License-Identifier: Apache-2.0
#include "training_support.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "core/philox.h"
#include "train/trainer/trainer.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"

namespace octet::test {
std::string
weights(const char* name, const char* shape, int count, uint64_t stream, uint64_t seed) {
  Philox random(seed, stream);
  std::string text = std::string("const ") + name + ": f32" + shape + " = [";
  for (int i = 0; i < count; ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(random.uniform(-0.7, 0.7));
  return text + "]\n";
}

namespace {

std::string constants() {
  return weights("w1", "[16, 2]", 32, 1) + weights("b1", "[16]", 16, 2) +
         weights("w2", "[3, 16]", 48, 3) + weights("b2", "[3]", 3, 4);
}

Graph must_parse(const std::string& text) {
  Result<Graph> graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  return std::move(*graph);
}

} // namespace

Sectors::Sectors(int64_t count, uint64_t seed) : count_(count) {
  Philox random(seed);
  for (int64_t i = 0; i < count; ++i) {
    const double angle = random.uniform(0, 2 * M_PI), radius = random.uniform(0.3, 1.5);
    points_.push_back(static_cast<float>(radius * std::cos(angle)));
    points_.push_back(static_cast<float>(radius * std::sin(angle)));
    labels_.push_back(std::min<int64_t>(2, static_cast<int64_t>(angle / (2 * M_PI / 3))));
  }
  features_.emplace_back("x",
                         TypeInfo{DType::kFloat32, std::vector<Dim>{Dim::symbol("N"), Dim(2)}, {}});
}

Result<Batch> Sectors::batch(std::span<const int64_t> indices) const {
  const auto n = static_cast<int64_t>(indices.size());
  Tensor x = OCTET_TRY(Tensor::zeros(DType::kFloat32, {n, 2}));
  Tensor y = OCTET_TRY(Tensor::zeros(DType::kInt64, {n}));
  for (size_t i = 0; i < indices.size(); ++i) {
    const auto k = static_cast<size_t>(indices[i]);
    x.mutable_data<float>()[2 * i] = points_[2 * k] * scale;
    x.mutable_data<float>()[2 * i + 1] = points_[2 * k + 1] * scale;
    y.mutable_data<int64_t>()[i] = labels_[k];
  }
  Batch batch;
  batch.inputs.emplace_back("x", std::move(x));
  batch.labels = std::move(y);
  return batch;
}

Graph small_network(double dropout) {
  return must_parse("graph g opset(\"\"=17)\ninput x: f32[N, 2]\n" + constants() +
                    "const ratio: f32[] = [" + std::to_string(dropout) +
                    "]\nh = Gemm(x, w1, b1) {transB=1}\nr = Relu(h)\nd = Dropout(r, ratio)\n"
                    "l = Gemm(d, w2, b2) {transB=1}\np = Softmax(l)\noutput p: f32[N, 3]\n");
}

Graph small_quantized_network() {
  const std::string scale =
      "const z: i8[] = [0]\nconst sx: f32[] = [0.012]\nconst sh: f32[] = [0.03]\n"
      "const s1: f32[] = [0.006]\nconst s2: f32[] = [0.006]\n";
  return must_parse("graph g opset(\"\"=17)\ninput x: f32[N, 2]\n" + constants() + scale +
                    "xq = QuantizeLinear(x, sx, z)\nxd = DequantizeLinear(xq, sx, z)\n"
                    "w1q = QuantizeLinear(w1, s1, z)\nw1d = DequantizeLinear(w1q, s1, z)\n"
                    "h = Gemm(xd, w1d, b1) {transB=1}\nr = Relu(h)\n"
                    "rq = QuantizeLinear(r, sh, z)\nrd = DequantizeLinear(rq, sh, z)\n"
                    "w2q = QuantizeLinear(w2, s2, z)\nw2d = DequantizeLinear(w2q, s2, z)\n"
                    "l = Gemm(rd, w2d, b2) {transB=1}\np = Softmax(l)\noutput p: f32[N, 3]\n");
}

TrainOptions small_options() {
  TrainOptions o;
  o.optimizer.lr = 0.02;
  o.epochs = 4;
  o.batch_size = 16;
  o.seed = 9;
  o.threads = 1;
  if (const char* device = std::getenv("OCTET_TEST_DEVICE"); device != nullptr)
    o.device = std::string(device) == "cuda" ? Device::kCuda : Device::kCpu;
  return o;
}

Batch whole(const Dataset& data) {
  std::vector<int64_t> all(static_cast<size_t>(data.size()));
  std::iota(all.begin(), all.end(), 0);
  return data.batch(all).value();
}

Tensor reference_output(const Graph& graph, const Batch& batch) {
  const auto executor = make_reference_executor(graph).value();
  return executor->run(std::vector<Tensor>{batch.inputs[0].second}).value()[0];
}

double reference_loss(const Graph& graph, const Dataset& data) {
  const Batch batch = whole(data);
  const Tensor p = reference_output(graph, batch);
  double sum = 0;
  for (int64_t i = 0; i < data.size(); ++i)
    sum -= std::log(std::max(1e-300, p.at(3 * i + static_cast<int64_t>(batch.labels.at(i)))));
  return sum / static_cast<double>(data.size());
}

TrainedModel must_train(const Graph& graph,
                        const Dataset& data,
                        const TrainOptions& options,
                        const Dataset* validation) {
  Result<TrainedModel> model = train::train_graph(graph, data, validation, options);
  EXPECT_TRUE(model.ok()) << model.error().text();
  return std::move(*model);
}

} // namespace octet::test

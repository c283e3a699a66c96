// SPDX-License-Identifier: Apache-2.0
// Training steps on command, so that a script can let this program and a peer take turns on the
// same machine (bench/train_bert_pytorch.py, bench/train_qat_pytorch.py). Networks: cnn (batch
// 128), and bert-mini (4 layers, 256 hidden, classifier; batch 32, sequence 128). usage:
// octet_bench_train_steps cnn|bert-mini float|qat|lsq THREADS DROPOUT WEIGHTS.npz [cpu|cuda] Writes
// the initial weights, then for each line "N" on the input runs N steps and prints seconds, the
// last loss and the peak memory in kB. (On a device the loss is one of the last 32 steps.)
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "core/progress.h"
#include "data/npz.h"
#include <fmt/format.h>
#include <sys/resource.h>

#include "octet/bert.h"
#include "octet/models.h"
#include "octet/quantize.h"
#include "octet/train.h"

namespace octet::bench {
namespace {

constexpr int64_t kLength = 128, kVocabulary = 30522;

/// Numbers that a script makes again with the same formula.
int64_t number(int64_t i, int64_t j, int64_t modulus) {
  return (i * 7919 + j * 104729 + i * j % 1009) % modulus;
}

TypeInfo batch_type(DType type, std::vector<Dim> rest) {
  rest.insert(rest.begin(), Dim::symbol("N"));
  return {type, std::move(rest), {}};
}

class Sentences final : public Dataset {
 public:
  Sentences() {
    for (const char* name : {"input_ids", "attention_mask", "token_type_ids"})
      features_.emplace_back(name, batch_type(DType::kInt64, {Dim(kLength)}));
  }
  std::string description() const override { return "made-up sentences"; }
  int64_t size() const override { return 4096; }
  const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
    return features_;
  }
  const std::vector<std::string>& classes() const override { return classes_; }
  Result<Batch> batch(std::span<const int64_t> indices) const override {
    const auto n = static_cast<int64_t>(indices.size());
    Batch out;
    for (const auto& [name, type] : features_) {
      Tensor t = OCTET_TRY(Tensor::zeros(DType::kInt64, {n, kLength}));
      const std::span<int64_t> to = t.mutable_data<int64_t>();
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < kLength; ++j)
          to[static_cast<size_t>(i * kLength + j)] =
              name == "input_ids" ? 1000 + number(indices[static_cast<size_t>(i)], j, 29000)
              : name == "attention_mask"
                  ? (j < kLength - indices[static_cast<size_t>(i)] % 32 ? 1 : 0)
                  : 0;
      out.inputs.emplace_back(name, std::move(t));
    }
    out.labels = OCTET_TRY(Tensor::zeros(DType::kInt64, {n}));
    for (int64_t i = 0; i < n; ++i)
      out.labels.mutable_data<int64_t>()[static_cast<size_t>(i)] =
          indices[static_cast<size_t>(i)] % 2;
    return out;
  }

 private:
  std::vector<std::pair<std::string, TypeInfo>> features_;
  std::vector<std::string> classes_{"0", "1"};
};

struct Job {
  Graph graph;
  std::shared_ptr<const Dataset> data;
  TrainOptions options;
};

Result<Job> make_job(const std::string& network, double dropout) {
  Job job;
  job.options.optimizer.lr = 1e-4;
  job.options.schedule.kind = ScheduleKind::kConstant;
  if (network == "cnn") {
    CnnOptions cnn;
    cnn.dropout = dropout;
    job.graph = OCTET_TRY(make_cnn(cnn));
    job.data = OCTET_TRY(open_dataset("generated", Split::kTrain));
    job.options.batch_size = 128;
  } else {
    BertOptions bert = OCTET_TRY(bert_size("mini"));
    bert.head = BertHead::kClassification;
    bert.dropout = bert.attention_dropout = dropout;
    bert.vocabulary = kVocabulary;
    job.graph = OCTET_TRY(make_bert(bert));
    job.data = std::make_shared<Sentences>();
    job.options.batch_size = 32;
    job.options.optimizer.kind = OptimizerKind::kAdamW;
    job.options.optimizer.weight_decay = 0.01;
  }
  return job;
}

Status write_weights(const Graph& graph, const std::string& path) {
  NamedTensors weights;
  for (const ValueId id : graph.constants())
    if (graph.value(id).constant.type() == DType::kFloat32)
      weights.emplace_back(graph.value(id).name, graph.value(id).constant);
  return write_npz(path, weights, Overwrite::kYes);
}

Status run(const std::vector<std::string>& arguments) {
  Job job = OCTET_TRY(make_job(arguments[0], std::atof(arguments[3].c_str())));
  OCTET_TRY(write_weights(job.graph, arguments[4]));
  if (arguments[1] != "float") {
    QuantizeOptions quantization;
    quantization.samples = 64;
    quantization.batch_size = 32;
    quantization.target = "tensorrt-10";
    if (arguments[0] != "cnn") quantization.include = {"encoder.*"};
    const QuantizationPlan plan = OCTET_TRY(plan_quantization(job.graph, *job.data, quantization));
    job.graph = OCTET_TRY(quantize(job.graph, plan, WeightStorage::kFloat));
  }
  if (arguments[1] == "lsq") {
    job.options.weight_scales = WeightScales::kLearned;
    job.options.activation_scales = ActivationScales::kLearned;
  }
  TrainApi* api = OCTET_TRY(train_api());
  CancelToken done;
  job.options.cancel = &done;
  job.options.threads = std::atoi(arguments[2].c_str());
  if (arguments.size() > 5 && arguments[5] == "cuda") job.options.device = Device::kCuda;
  job.options.max_steps = 1000000;
  int64_t left = 0, asked = 0;
  auto start = std::chrono::steady_clock::now();
  double loss = 0;
  job.options.on_scalar = [&](std::string_view tag, int64_t, double value) {
    if (tag == "train/step_loss") loss = value;
  };
  const auto next = [&] {
    std::string line;
    if (!std::getline(std::cin, line)) return done.cancel();
    asked = left = std::atoll(line.c_str());
    start = std::chrono::steady_clock::now();
  };
  // The step before the first line warms up: on_step has been called once when it is read.
  job.options.on_step = [&](const TrainProgress&) {
    if (left > 0 && --left > 0) return;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    fmt::print("{} {} {} {}\n", asked, seconds.count(), loss, usage.ru_maxrss);
    std::fflush(stdout);
    next();
  };
  const Result<TrainedModel> trained = api->train(job.graph, *job.data, nullptr, job.options);
  if (!trained.ok()) return trained.error();
  return ok_status();
}

} // namespace
} // namespace octet::bench

int main(int argc, char** argv) {
  if (argc != 6 && argc != 7) {
    fmt::print(stderr,
               "usage: {} cnn|bert-mini float|qat|lsq THREADS DROPOUT WEIGHTS.npz [cpu|cuda]\n",
               argv[0]);
    return 2;
  }
  const octet::Status status = octet::bench::run({argv + 1, argv + argc});
  if (status.ok()) return 0;
  fmt::print(stderr, "{}\n", status.error().text());
  return 2;
}

// SPDX-License-Identifier: Apache-2.0
#include "training_ways.h"

#include <ostream>

#include "sequences.h"
#include "training_support.h"

#include "octet/bert.h"
#include "octet/models.h"
#include "octet/quantize.h"

namespace octet::test {
namespace {

std::unique_ptr<Dataset> sectors() {
  return std::make_unique<Sectors>(640);
}

std::unique_ptr<Dataset> sequences() {
  return std::make_unique<Sequences>(640);
}

Graph quantized_cnn() {
  const auto data = open_dataset("generated", Split::kTrain).value();
  const Graph graph = make_cnn().value();
  QuantizeOptions options;
  options.samples = 16;
  options.batch_size = 16;
  options.target = "tensorrt-10";
  const QuantizationPlan plan = plan_quantization(graph, *data, options).value();
  return quantize(graph, plan, WeightStorage::kFloat).value();
}

std::unique_ptr<Dataset> images() {
  class Held final : public Dataset {
   public:
    std::string description() const override { return data_->description(); }
    int64_t size() const override { return 400; }
    const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
      return data_->features();
    }
    const std::vector<std::string>& classes() const override { return data_->classes(); }
    Result<Batch> batch(std::span<const int64_t> indices) const override {
      return data_->batch(indices);
    }

   private:
    std::shared_ptr<const Dataset> data_ = open_dataset("generated", Split::kTrain).value();
  };
  return std::make_unique<Held>();
}

Graph small_bert() {
  BertOptions options = bert_size("tiny").value();
  options.head = BertHead::kClassification;
  options.vocabulary = 100;
  options.dropout = options.attention_dropout = 0.1;
  return make_bert(options).value();
}

std::unique_ptr<Dataset> sentences() {
  class Sentences final : public Dataset {
   public:
    Sentences() {
      for (const char* name : {"input_ids", "attention_mask", "token_type_ids"})
        features_.emplace_back(
            name,
            TypeInfo{DType::kInt64, std::vector<Dim>{Dim::symbol("N"), Dim::symbol("S")}, {}});
    }
    std::string description() const override { return "sentences"; }
    int64_t size() const override { return 400; }
    const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
      return features_;
    }
    const std::vector<std::string>& classes() const override { return classes_; }
    Result<Batch> batch(std::span<const int64_t> indices) const override {
      const auto n = static_cast<int64_t>(indices.size());
      Batch out;
      for (const auto& [name, type] : features_) {
        Tensor t = OCTET_TRY(Tensor::zeros(DType::kInt64, {n, 6}));
        for (int64_t& value : t.mutable_data<int64_t>())
          value = name == "token_type_ids" ? 0 : 1;
        out.inputs.emplace_back(name, std::move(t));
      }
      out.labels = OCTET_TRY(Tensor::zeros(DType::kInt64, {n}));
      return out;
    }

   private:
    std::vector<std::pair<std::string, TypeInfo>> features_;
    std::vector<std::string> classes_{"0", "1"};
  };
  return std::make_unique<Sentences>();
}

void keep(TrainOptions& /*options*/) {}

const Graph& teacher() {
  static const Graph graph = test::small_network();
  return graph;
}

} // namespace

std::ostream& operator<<(std::ostream& out, const TrainingWay& way) {
  return out << way.name;
}

const std::vector<TrainingWay>& training_ways() {
  static const std::vector<TrainingWay> ways = {
      {"Float", [] { return small_network(); }, keep, sectors},
      {"FloatSgdClipped", [] { return small_network(); },
       [](TrainOptions& o) {
         o.optimizer.kind = OptimizerKind::kSgd;
         o.optimizer.momentum = 0.9;
         o.optimizer.clip_norm = 1;
       },
       sectors},
      {"MeanSquare", [] { return small_network(); },
       [](TrainOptions& o) { o.loss = LossKind::kMeanSquare; }, sectors},
      {"TwoLosses", [] { return sequence_network(); },
       [](TrainOptions& o) { o.losses = sequence_options().losses; }, sequences},
      {"FollowedScales", [] { return small_quantized_network(); },
       [](TrainOptions& o) { o.weight_scales = WeightScales::kFollow; }, sectors},
      {"Lsq", [] { return small_quantized_network(); },
       [](TrainOptions& o) {
         o.weight_scales = WeightScales::kLearned;
         o.activation_scales = ActivationScales::kLearned;
         o.scale_start = ScaleStart::kPublished;
       },
       sectors},
      {"Pact", [] { return small_quantized_network(); },
       [](TrainOptions& o) {
         o.weight_scales = WeightScales::kFollow;
         o.activation_scales = ActivationScales::kClipped;
       },
       sectors},
      {"Fp8Delayed", [] { return small_network(); },
       [](TrainOptions& o) { o.precision = Precision::kFloat8; }, sectors},
      {"Fp8Current", [] { return small_network(); },
       [](TrainOptions& o) {
         o.precision = Precision::kFloat8;
         o.fp8.scaling = Fp8Scaling::kCurrent;
       },
       sectors},
      {"Distilled", [] { return small_quantized_network(); },
       [](TrainOptions& o) {
         o.teacher.graph = &teacher();
         o.teacher.weight = 0.5;
       },
       sectors},
      {"Cnn", [] { return make_cnn().value(); }, keep, images},
      {"CnnFp8", [] { return make_cnn().value(); },
       [](TrainOptions& o) { o.precision = Precision::kFloat8; }, images},
      {"CnnQuantized", [] { return quantized_cnn(); },
       [](TrainOptions& o) { o.weight_scales = WeightScales::kFollow; }, images},
      {"Bert", small_bert, [](TrainOptions& o) { o.optimizer.kind = OptimizerKind::kAdamW; },
       sentences},
  };
  return ways;
}

} // namespace octet::test

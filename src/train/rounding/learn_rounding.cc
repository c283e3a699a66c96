// SPDX-License-Identifier: Apache-2.0
// A weight is below + h(V) gap, where h = clamp(1.2 sigmoid(V) - 0.1, 0, 1) begins with the weight as
// it was; V goes down the gradient of
//   mean (y - wanted)^2 / (the same with the nearest numbers)  +  10 mean (1 - |2 h - 1|^beta)
// by Adam, beta from 20 to 2 behind a fifth of the iterations without the second term.
// Source: Nagel et al. 2020 (AdaRound), equations 21 to 25; Li et al. 2021 (BRECQ) for blocks.
#include "train/rounding/learn_rounding.h"

#include <cmath>
#include <numbers>

#include "core/format.h"
#include "core/philox.h"
#include "train/convert.h"
#include "train/executor/program.h"
#include "train/runtime.h"
#include "train/trainer/optimizer.h"
#include <ATen/core/grad_mode.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/log.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/square.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

namespace octet::train {
namespace {

constexpr double kHigh = 1.1, kLow = -0.1;
constexpr double kRegularizer = 10, kWarm = 0.2;
constexpr double kRate = 0.01;

struct TorchExamples {
  int64_t rows;
  std::vector<at::Tensor> given, wanted, counts;
};

std::vector<at::Tensor> to_torch_all(std::span<const octet::Tensor> tensors) {
  std::vector<at::Tensor> out;
  for (const octet::Tensor& t : tensors)
    out.push_back(t.empty() ? at::Tensor() : to_torch(t));
  return out;
}

std::vector<TorchExamples> to_torch_examples(std::span<const RoundingExamples> all) {
  std::vector<TorchExamples> out;
  for (const RoundingExamples& e : all)
    out.push_back({e.rows, to_torch_all(e.given), to_torch_all(e.wanted), to_torch_all(e.counts)});
  return out;
}

class RoundingLearner {
 public:
  explicit RoundingLearner(const RoundingRequest& request) : request_(request) {}

  Result<LearnedRounding> run() {
    OCTET_TRY(prepare());
    put_nearest();
    const double start = OCTET_TRY(mean_error(fitted_));
    LearnedRounding out;
    out.nearest = OCTET_TRY(mean_error(judged()));
    if (start > 0) {
      OCTET_TRY(descend(start));
      put_learned();
      out.learned = OCTET_TRY(mean_error(judged()));
    } else {
      out.learned = out.nearest;
    }
    for (size_t w = 0; w < weights_.size(); ++w)
      out.up.push_back(
          from_torch((start > 0 ? learned_up(weights_[w]) : weights_[w].nearest_up).contiguous(),
                     DType::kBool));
    return out;
  }

 private:
  struct Weight {
    ValueId slot;
    at::Tensor below, gap, v, nearest_up;
  };

  Status prepare() {
    ProgramOptions options;
    for (const RoundingRequest::Weight& weight : request_.weights) {
      const auto id = request_.part.find_value(weight.constant);
      if (!id || !request_.part.value(*id).is_constant())
        return error("the part has no constant \"{}\"", weight.constant);
      options.parameters.push_back(*id);
    }
    program_ = OCTET_TRY(Program::create(request_.part, options));
    if (!program_->without_gradient().empty())
      return error(ErrorCode::kUnsupported, "{} has no gradient",
                   program_->without_gradient().front());
    for (size_t w = 0; w < request_.weights.size(); ++w)
      weights_.push_back(start_of(options.parameters[w], request_.weights[w]));
    fitted_ = to_torch_examples(request_.fitted);
    judged_ = to_torch_examples(request_.judged);
    if (fitted_.empty()) return error("there are no examples to learn from");
    return ok_status();
  }

  Weight start_of(ValueId id, const RoundingRequest::Weight& weight) const {
    const at::NoGradGuard no_gradient;
    Weight out{id, to_torch(weight.below), to_torch(weight.gap), {}, {}};
    const at::Tensor whole = to_torch(request_.part.value(id).constant);
    const at::Tensor share =
        at::where(out.gap > 0, (whole - out.below) / out.gap, at::zeros_like(whole)).clamp(0, 1);
    // Halves go either way: what the nearest code is matters for the comparison alone.
    out.nearest_up = (share > 0.5).logical_and(out.gap > 0);
    const at::Tensor start = (share - kLow) / (kHigh - kLow);
    out.v = at::log(start / (1 - start)).set_requires_grad(true);
    return out;
  }

  static at::Tensor learned_up(const Weight& weight) {
    const at::NoGradGuard no_gradient;
    return (weight.v >= 0).logical_and(weight.gap > 0);
  }
  void put(const Weight& weight, const at::Tensor& share) {
    program_->slot(weight.slot) = weight.below + share * weight.gap;
  }
  void put_nearest() {
    for (const Weight& weight : weights_)
      put(weight, weight.nearest_up.to(at::kFloat));
  }
  void put_learned() {
    for (const Weight& weight : weights_)
      put(weight, learned_up(weight).to(at::kFloat));
  }

  const std::vector<TorchExamples>& judged() const { return judged_.empty() ? fitted_ : judged_; }

  /// The sum of squares over what counts, and how much that is.
  struct Squares {
    at::Tensor sum;
    double count = 0;
  };
  Result<Squares> squares(const TorchExamples& examples, std::vector<at::Tensor> inputs) {
    const std::vector<at::Tensor> made =
        OCTET_TRY(program_->forward(std::move(inputs), RunState{}));
    Squares out;
    for (size_t o = 0; o < made.size(); ++o) {
      at::Tensor square = at::square(made[o] - examples.wanted[o]);
      if (examples.counts[o].defined()) {
        const at::Tensor counted = examples.counts[o].sum();
        const auto each =
            static_cast<double>(square.numel()) / static_cast<double>(examples.counts[o].numel());
        out.count += each * static_cast<double>(counted.item<float>());
        square = square * examples.counts[o];
      } else {
        out.count += static_cast<double>(square.numel());
      }
      out.sum = out.sum.defined() ? out.sum + square.sum() : square.sum();
    }
    return out;
  }

  Result<double> mean_error(const std::vector<TorchExamples>& all) {
    const at::NoGradGuard no_gradient;
    double sum = 0, count = 0;
    for (const TorchExamples& examples : all) {
      const Squares one = OCTET_TRY(squares(examples, examples.given));
      sum += static_cast<double>(one.sum.item<float>());
      count += one.count;
    }
    const double mean = sum / std::max(count, 1.0);
    if (!std::isfinite(mean)) return error("the outputs' error is {}", mean);
    return mean;
  }

  /// Some rows of one of the batches.
  TorchExamples draw() {
    const at::NoGradGuard no_gradient;
    TorchExamples out =
        fitted_[static_cast<size_t>(random_.below(static_cast<int64_t>(fitted_.size())))];
    if (out.rows > request_.batch) {
      std::vector<int64_t> rows;
      for (int64_t i = 0; i < request_.batch; ++i)
        rows.push_back(random_.below(out.rows));
      const at::Tensor picked = at::tensor(rows);
      for (std::vector<at::Tensor>* all : {&out.given, &out.wanted, &out.counts})
        for (at::Tensor& t : *all)
          if (t.defined()) t = at::index_select(t, 0, picked);
      out.rows = request_.batch;
    }
    return out;
  }

  double beta(int64_t iteration) const {
    const double warm = kWarm * static_cast<double>(request_.iterations);
    const double done =
        (static_cast<double>(iteration) - warm) / (static_cast<double>(request_.iterations) - warm);
    return 2 + 9 * (1 + std::cos(done * std::numbers::pi));
  }

  Status descend(double start) {
    std::vector<at::Tensor> leaves;
    int64_t count = 0;
    for (const Weight& weight : weights_) {
      leaves.push_back(weight.v);
      count += weight.v.numel();
    }
    OptimizerOptions adam;
    adam.kind = OptimizerKind::kAdam;
    Optimizer optimizer(adam, leaves, std::vector<double>(leaves.size(), 0.0));
    for (int64_t t = 0; t < request_.iterations; ++t) {
      if (request_.progress && !request_.progress(t))
        return error(ErrorCode::kCancelled, "stopped while codes were learned");
      const TorchExamples examples = draw();
      const bool warm = static_cast<double>(t) < kWarm * static_cast<double>(request_.iterations);
      at::Tensor pull;
      for (const Weight& weight : weights_) {
        const at::Tensor h = at::clamp(at::sigmoid(weight.v) * (kHigh - kLow) + kLow, 0.0, 1.0);
        put(weight, h);
        if (warm) continue;
        const at::Tensor one = (1 - at::pow(at::abs(2 * h - 1), beta(t))).sum();
        pull = pull.defined() ? pull + one : one;
      }
      const Squares made = OCTET_TRY(squares(examples, examples.given));
      at::Tensor loss = made.sum / (std::max(made.count, 1.0) * start);
      if (pull.defined()) loss = loss + pull * (kRegularizer / static_cast<double>(count));
      loss.backward();
      optimizer.step({kRate, adam.beta1});
    }
    return ok_status();
  }

  const RoundingRequest& request_;
  std::unique_ptr<Program> program_;
  std::vector<Weight> weights_;
  std::vector<TorchExamples> fitted_, judged_;
  Philox random_{request_.seed};
};

} // namespace

Result<LearnedRounding> learn_rounding(const RoundingRequest& request) {
  // On one thread: sums of gradients, and so what is learned, depend on how many there are.
  OCTET_TRY(prepare_runtime(Device::kCpu, 1));
  const KeepFreedMemory keep;
  return RoundingLearner(request).run();
}

} // namespace octet::train

// SPDX-License-Identifier: Apache-2.0
// What `reconstruct` learns by, without gradients: codes change sides one after the other as long as
// that lowers the error of the part's outputs, which the reference executor computes.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/learn_rounding.h"

namespace octet::test {

class FlippingLearner {
 public:
  /// At most so many elements of each weight are tried.
  explicit FlippingLearner(int64_t tried) : tried_(tried) {}

  Result<LearnedRounding> operator()(const RoundingRequest& request) const {
    std::vector<std::vector<uint8_t>> up;
    for (const RoundingRequest::Weight& weight : request.weights)
      up.push_back(nearest(request, weight));
    const auto& judged = request.judged.empty() ? request.fitted : request.judged;
    LearnedRounding out;
    out.nearest = error(request, judged, up);
    double least = error(request, request.fitted, up);
    for (size_t w = 0; w < up.size(); ++w)
      for (size_t i = 0; i < up[w].size() && i < static_cast<size_t>(tried_); ++i) {
        if (request.progress && !request.progress(static_cast<int64_t>(i)))
          return Error("stopped", ErrorCode::kCancelled);
        if (!(request.weights[w].gap.at(static_cast<int64_t>(i)) > 0)) continue;
        up[w][i] ^= 1U;
        const double now = error(request, request.fitted, up);
        if (now < least)
          least = now;
        else
          up[w][i] ^= 1U;
      }
    out.learned = error(request, judged, up);
    for (size_t w = 0; w < up.size(); ++w) {
      Tensor flags = Tensor::zeros(DType::kBool, request.weights[w].gap.shape()).value();
      for (size_t i = 0; i < up[w].size(); ++i)
        flags.mutable_data<bool>()[i] = up[w][i] != 0;
      out.up.push_back(flags);
    }
    return out;
  }

 private:
  static std::vector<uint8_t> nearest(const RoundingRequest& request,
                                      const RoundingRequest::Weight& weight) {
    const Tensor& whole = *request.part.constant(*request.part.find_value(weight.constant));
    std::vector<uint8_t> out;
    for (int64_t i = 0; i < whole.count(); ++i)
      out.push_back(whole.at(i) - weight.below.at(i) > weight.gap.at(i) / 2 ? 1 : 0);
    return out;
  }

  static double error(const RoundingRequest& request,
                      const std::vector<RoundingExamples>& all,
                      const std::vector<std::vector<uint8_t>>& up) {
    Graph part = request.part;
    for (size_t w = 0; w < up.size(); ++w) {
      const RoundingRequest::Weight& weight = request.weights[w];
      std::vector<float> values;
      for (size_t i = 0; i < up[w].size(); ++i)
        values.push_back(
            static_cast<float>(weight.below.at(static_cast<int64_t>(i)) +
                               (up[w][i] != 0 ? weight.gap.at(static_cast<int64_t>(i)) : 0)));
      part.set_constant(*part.find_value(weight.constant),
                        Tensor::of<float>(weight.gap.shape(), std::span<const float>(values)));
    }
    const auto executor = make_reference_executor(part).value();
    double sum = 0, count = 0;
    for (const RoundingExamples& examples : all) {
      const std::vector<Tensor> made = executor->run(examples.given).value();
      for (size_t o = 0; o < made.size(); ++o)
        for (int64_t i = 0; i < made[o].count(); ++i) {
          const double d = made[o].at(i) - examples.wanted[o].at(i);
          sum += d * d;
          count += 1;
        }
    }
    return sum / count;
  }

  int64_t tried_;
};

} // namespace octet::test

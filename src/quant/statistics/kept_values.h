// SPDX-License-Identifier: Apache-2.0
// The values themselves, for steps that learn from them: whoever asks bounds the batches.
#pragma once

#include "core/format.h"
#include "quant/statistics/statistic.h"

namespace octet {

class KeptValues final : public Statistic {
 public:
  Status observe(const Tensor& values, const Tensor* mask) override {
    values_.push_back(values.clone());
    masks_.push_back(mask != nullptr ? mask->clone() : Tensor());
    bytes_ += static_cast<int64_t>(values.bytes().size());
    return ok_status();
  }
  Status merge(const Statistic& /*other*/) override {
    return error("values that were kept are in the order of the data and cannot be merged");
  }
  /// The batches, by number.
  std::vector<std::pair<std::string, Tensor>> state() const override {
    std::vector<std::pair<std::string, Tensor>> out;
    for (size_t b = 0; b < values_.size(); ++b)
      out.emplace_back(fmt::format("{}", b), values_[b]);
    return out;
  }
  int64_t bytes() const override { return bytes_; }

  /// By batch; an empty mask: all counts.
  const std::vector<Tensor>& values() const { return values_; }
  const std::vector<Tensor>& masks() const { return masks_; }

 private:
  std::vector<Tensor> values_, masks_;
  int64_t bytes_ = 0;
};

} // namespace octet

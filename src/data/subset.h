// SPDX-License-Identifier: Apache-2.0
// A part of a data set.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "octet/dataset.h"

namespace octet {

/// Some examples of a data set, in the order of `indices`.
class Subset final : public Dataset {
 public:
  Subset(const Dataset& all, std::vector<int64_t> indices)
      : all_(all), indices_(std::move(indices)) {}
  std::string description() const override { return all_.description(); }
  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
    return all_.features();
  }
  const std::vector<std::string>& classes() const override { return all_.classes(); }
  Result<Batch> batch(std::span<const int64_t> indices) const override {
    return all_.batch(mapped(indices));
  }
  Result<Batch> batch_at(std::span<const int64_t> indices, int64_t epoch) const override {
    return all_.batch_at(mapped(indices), epoch);
  }
  int64_t length(int64_t index) const override {
    return all_.length(indices_[static_cast<size_t>(index)]);
  }
  const ImagePreparation* images() const override { return all_.images(); }
  std::string file(int64_t index) const override {
    return all_.file(indices_[static_cast<size_t>(index)]);
  }
  int64_t position(int64_t index) const override {
    return all_.position(indices_[static_cast<size_t>(index)]);
  }

 private:
  std::vector<int64_t> mapped(std::span<const int64_t> indices) const {
    std::vector<int64_t> out;
    for (const int64_t i : indices)
      out.push_back(indices_[static_cast<size_t>(i)]);
    return out;
  }

  const Dataset& all_;
  std::vector<int64_t> indices_;
};

} // namespace octet

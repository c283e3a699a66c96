// SPDX-License-Identifier: Apache-2.0
// A data set that remembers whether its inputs ever differ.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "octet/dataset.h"

namespace octet::cli {

/// Hands on what another data set gives, and looks at it on the way.
class WatchedData final : public Dataset {
 public:
  explicit WatchedData(std::shared_ptr<const Dataset> data) : data_(std::move(data)) {}

  std::string description() const override { return data_->description(); }
  int64_t size() const override { return data_->size(); }
  const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
    return data_->features();
  }
  const std::vector<std::string>& classes() const override { return data_->classes(); }
  Result<Batch> batch(std::span<const int64_t> indices) const override;
  int64_t length(int64_t index) const override { return data_->length(index); }
  const ImagePreparation* images() const override { return data_->images(); }
  std::string file(int64_t index) const override { return data_->file(index); }
  int64_t position(int64_t index) const override { return data_->position(index); }

  /// Says on stderr which features of several floats each were one number in all that was read, but
  /// for those named in `zeros`: ranges of such data are those of no other.
  void tell_constant(std::span<const std::string> zeros) const;
  /// An error with the place of the first infinity that was read, if there was one: a mask may be
  /// infinite, and other numbers that are make NaN of what is computed with them.
  template <class T>
  Result<T> with_infinity(Result<T> result) const {
    if (result.ok() || result.error().code() == ErrorCode::kCancelled || infinity_.empty())
      return result;
    return std::move(result).with(infinity_);
  }

 private:
  struct Seen {
    double value = 0;
    int64_t examples = 0;
    bool differs = false;
  };

  std::shared_ptr<const Dataset> data_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, Seen> seen_;
  mutable std::string infinity_; ///< where the first is; empty: nowhere
};

} // namespace octet::cli

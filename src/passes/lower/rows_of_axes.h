// SPDX-License-Identifier: Apache-2.0
// The last axes of a tensor as one: how rules hand several axes to an operator of rows.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/patch.h"

namespace octet::lowering {

class RowsOfAxes {
 public:
  /// Of the last `count` axes of x, two or more, whose sizes are known and not 0.
  static std::optional<RowsOfAxes> of(const TypeInfo& x, int64_t count, std::string name) {
    if (!x.has_rank() || count < 2 || count > x.rank()) return std::nullopt;
    RowsOfAxes out;
    out.name_ = std::move(name);
    out.lead_.assign(static_cast<size_t>(x.rank() - count), 0);
    for (int64_t i = x.rank() - count; i < x.rank(); ++i) {
      const auto size = (*x.shape)[static_cast<size_t>(i)].maybe_value();
      constexpr int64_t kMost = int64_t{1} << 31;
      if (!size || *size <= 0 || *size > kMost || out.length_ > kMost) return std::nullopt;
      out.sizes_.push_back(*size);
      out.length_ *= *size;
    }
    return out;
  }

  const std::vector<int64_t>& sizes() const { return sizes_; }
  int64_t length() const { return length_; }

  ValueId rows(Patch& patch, ValueId x) const {
    std::vector<int64_t> shape = lead_;
    shape.push_back(length_);
    return reshaped(patch, x, shape, "/rows");
  }
  ValueId axes(Patch& patch, ValueId rows) const {
    std::vector<int64_t> shape = lead_;
    shape.insert(shape.end(), sizes_.begin(), sizes_.end());
    return reshaped(patch, rows, shape, "/axes");
  }
  /// What has these axes, and maybe axes of 1 before them.
  ValueId vector(Patch& patch, ValueId part) const {
    return reshaped(patch, part, {length_}, "/vector");
  }

 private:
  ValueId
  reshaped(Patch& patch, ValueId x, const std::vector<int64_t>& shape, const char* suffix) const {
    const ValueId target =
        patch.constant(name_ + suffix + "_shape", Tensor::of<int64_t>({std::ssize(shape)}, shape));
    return patch.emit("Reshape", {x, target}, {}, name_ + suffix);
  }

  std::string name_;
  std::vector<int64_t> lead_; ///< 0 for each axis that stays: Reshape takes its size
  std::vector<int64_t> sizes_;
  int64_t length_ = 1;
};

} // namespace octet::lowering

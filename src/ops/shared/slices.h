// SPDX-License-Identifier: Apache-2.0
// A tensor taken apart along an axis, and values put side by side along a new one, in runs of bytes.
#pragma once

#include <optional>
#include <vector>

#include "core/spare_buffers.h"
#include "ops/shared/types.h"

namespace octet {

/// The slices of a tensor along one of its axes.
class Slices {
 public:
  Slices(Tensor x, int64_t axis);
  int64_t count() const { return count_; }
  /// Element `i` along the axis, without it; it shares the tensor's bytes where they lie together
  /// and are aligned.
  Result<Tensor> at(int64_t i);

 private:
  Tensor x_;
  int64_t count_;
  int64_t outer_ = 1, inner_ = 1; ///< elements before and behind the axis
  Shape shape_;
  SpareBuffers spare_;
};

enum class CollectOrder : uint8_t { kForward, kBackward };

/// Values of one type and shape side by side along a new axis.
class Collected {
 public:
  /// `axis` may count from the end. `count`: how many there will be; without it the axis is the
  /// first and the order forward.
  Collected(int64_t axis, std::optional<int64_t> count, CollectOrder order = CollectOrder::kForward)
      : axis_(axis), count_(count), order_(order) {}
  /// Copies the value. Errors: it is of another type or shape than those before.
  Status add(const Tensor& value);
  bool empty() const { return made_ == 0; }
  /// All of them; `type` is that of a value where there was none.
  Result<Tensor> finish(const TypeInfo& type);

 private:
  Status begin(const Tensor& first);
  Status grow();

  int64_t axis_;
  std::optional<int64_t> count_;
  CollectOrder order_;
  DType type_ = DType::kUndefined;
  Shape shape_;
  int64_t outer_ = 1;
  size_t run_bytes_ = 0; ///< of a value, behind the axis
  int64_t capacity_ = 0; ///< values that `all_` has room for
  int64_t made_ = 0;
  Tensor all_;
  std::byte* to_ = nullptr;  ///< of all_
  std::vector<Tensor> list_; ///< of types whose elements are no whole bytes
};

} // namespace octet

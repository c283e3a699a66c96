// SPDX-License-Identifier: Apache-2.0
// How the elements of a batch fall into channels, and which of them count.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "core/format.h"

#include "octet/result.h"
#include "octet/tensor.h"

namespace octet {

/// Element (o, c, i) is at (o * channels + c) * inner + i.
struct Layout {
  int64_t outer = 1, channels = 1, inner = 1;
};
/// `axis` may count from the end and is in range; none: one channel.
inline Layout layout_of(const Tensor& tensor, std::optional<int64_t> axis) {
  Layout out;
  if (!axis) {
    out.inner = tensor.count();
    return out;
  }
  const int64_t a = *axis < 0 ? *axis + tensor.rank() : *axis;
  for (int64_t d = 0; d < tensor.rank(); ++d)
    (d < a ? out.outer : d == a ? out.channels : out.inner) *= tensor.dim(d);
  return out;
}

/// Whether element `index` counts. The mask's shape is how that of the values begins.
class Mask {
 public:
  Mask(const Tensor& values, const Tensor* mask) {
    if (mask == nullptr) return;
    span_ = mask->count() == 0 ? 1 : std::max<int64_t>(1, values.count() / mask->count());
    keep_.resize(static_cast<size_t>(mask->count()));
    for (int64_t i = 0; i < mask->count(); ++i)
      keep_[static_cast<size_t>(i)] = mask->at(i) != 0;
  }
  bool operator()(int64_t index) const {
    return keep_.empty() || keep_[static_cast<size_t>(index / span_)];
  }
  /// Behind the last element, `end` at most, of which the same is true as of element `index`.
  int64_t run_end(int64_t index, int64_t end) const {
    return keep_.empty() ? end : std::min(end, (index / span_ + 1) * span_);
  }

 private:
  std::vector<bool> keep_;
  int64_t span_ = 1;
};

/// The elements of a float tensor as f32, converted where they are of another type.
class Floats {
 public:
  static Result<Floats> of(const Tensor& values) {
    Floats out;
    if (values.type() == DType::kFloat32)
      out.aligned_ = values.aligned();
    else
      out.converted_ = OCTET_TRY(values.to_floats());
    return out;
  }
  std::span<const float> get() const {
    return aligned_.empty() ? std::span<const float>(converted_) : aligned_.data<float>();
  }

 private:
  Tensor aligned_;
  std::vector<float> converted_;
};

/// Errors of a batch: no floats, an axis out of range, a mask that is not how the shape begins.
inline Status check_batch(const Tensor& values, const Tensor* mask, std::optional<int64_t> axis) {
  if (!is_float(values.type()))
    return error("observer: cannot take the range of a tensor of type {}", name(values.type()));
  if (axis) {
    const int64_t a = *axis < 0 ? *axis + values.rank() : *axis;
    if (a < 0 || a >= values.rank())
      return error("observer: axis {} is out of range for shape {}", *axis,
                   to_string(values.shape()));
  }
  if (mask == nullptr) return ok_status();
  bool fits = mask->rank() <= values.rank();
  for (int64_t d = 0; fits && d < mask->rank(); ++d)
    fits = mask->dim(d) == values.dim(d);
  if (!fits)
    return error("observer: mask of shape {} is not how shape {} begins", to_string(mask->shape()),
                 to_string(values.shape()));
  return ok_status();
}

} // namespace octet

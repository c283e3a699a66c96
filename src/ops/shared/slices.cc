// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/slices.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "core/check.h"
#include "core/format.h"
#include "ops/shared/movement.h"

namespace octet {
namespace {

bool has_whole_bytes(DType type) {
  return bits(type) > 0 && bits(type) % 8 == 0;
}

/// A part of a tensor's bytes, which stay for as long as someone holds it.
class HeldPart final : public Buffer {
 public:
  HeldPart(Tensor of, std::span<const std::byte> part) : of_(std::move(of)) {
    data_ = part.data();
    size_ = part.size();
  }

 private:
  Tensor of_;
};

Result<Tensor> part_of(const Tensor& of, Shape shape, size_t begin, size_t size_bytes) {
  return Tensor::view(of.type(), std::move(shape),
                      std::make_shared<HeldPart>(of, of.bytes().subspan(begin, size_bytes)), 0);
}

int64_t product_of(std::span<const int64_t> sizes) {
  int64_t n = 1;
  for (const int64_t size : sizes)
    n *= size;
  return n;
}

/// The shape of nothing collected.
Shape shape_of_none(const TypeInfo& type, int64_t axis) {
  Shape shape;
  if (type.has_rank())
    for (const Dim& d : *type.shape)
      shape.push_back(d.maybe_value().value_or(0));
  shape.insert(shape.begin() + axis, 0);
  return shape;
}

Result<Tensor> stack(std::span<const Tensor> values, int64_t axis) {
  Shape shape = values[0].shape();
  Shape strides = strides_of(shape);
  strides.insert(strides.begin() + axis, values[0].count());
  shape.insert(shape.begin() + axis, static_cast<int64_t>(values.size()));
  return take(values, shape, strided_index(shape, strides));
}

} // namespace

Slices::Slices(Tensor x, int64_t axis)
    : x_(std::move(x)), count_(x_.dim(axis)), shape_(x_.shape()) {
  const auto at = static_cast<size_t>(axis);
  outer_ = product_of(std::span(shape_).first(at));
  inner_ = product_of(std::span(shape_).subspan(at + 1));
  shape_.erase(shape_.begin() + axis);
}

Result<Tensor> Slices::at(int64_t i) {
  OCTET_CHECK(i >= 0 && i < count_);
  if (x_.type() == DType::kString || !has_whole_bytes(x_.type())) {
    const Shape steps = {count_ * inner_, 1};
    return take(x_, shape_, strided_index(Shape{outer_, inner_}, steps, i * inner_));
  }
  const auto run = static_cast<size_t>(bytes_for(x_.type(), inner_));
  const size_t begin = static_cast<size_t>(i) * run;
  const std::byte* from = x_.bytes().data() + begin;
  constexpr uintptr_t kAlignment = 64;
  if (outer_ == 1 && reinterpret_cast<uintptr_t>(from) % kAlignment == 0)
    return part_of(x_, shape_, begin, run);
  const size_t size_bytes = static_cast<size_t>(outer_) * run;
  std::shared_ptr<Buffer> buffer = spare_.get(size_bytes);
  if (!buffer)
    return error("no memory for the {} bytes of a slice; use a smaller batch", size_bytes);
  std::byte* to = buffer->writable();
  for (int64_t o = 0; o < outer_ && run > 0; ++o, to += run) {
    std::memcpy(to, from, run);
    from += static_cast<size_t>(count_) * run;
  }
  return Tensor::view(x_.type(), shape_, std::move(buffer), 0);
}

Status Collected::begin(const Tensor& first) {
  constexpr int64_t kFirstCapacity = 16;
  type_ = first.type();
  shape_ = first.shape();
  axis_ = OCTET_TRY(normalize_axis(axis_, first.rank() + 1));
  OCTET_CHECK(count_ || (axis_ == 0 && order_ == CollectOrder::kForward));
  if (!has_whole_bytes(type_)) return ok_status();
  const auto at = static_cast<size_t>(axis_);
  outer_ = product_of(std::span(shape_).first(at));
  run_bytes_ = static_cast<size_t>(bytes_for(type_, product_of(std::span(shape_).subspan(at))));
  capacity_ = count_.value_or(kFirstCapacity);
  Shape shape = shape_;
  shape.insert(shape.begin() + axis_, capacity_);
  all_ = OCTET_TRY(Tensor::zeros(type_, std::move(shape)));
  to_ = all_.mutable_bytes().data();
  return ok_status();
}

/// Room for twice as many, along the first axis.
Status Collected::grow() {
  Shape shape = shape_;
  shape.insert(shape.begin(), 2 * capacity_);
  Tensor larger = OCTET_TRY(Tensor::zeros(type_, std::move(shape)));
  to_ = larger.mutable_bytes().data();
  if (const auto from = all_.bytes(); !from.empty()) std::memcpy(to_, from.data(), from.size());
  all_ = std::move(larger);
  capacity_ *= 2;
  return ok_status();
}

Status Collected::add(const Tensor& value) {
  if (made_ == 0) OCTET_TRY(begin(value));
  if (value.type() != type_)
    return error("cannot mix elements of {} and {}; insert a Cast", name(type_),
                 name(value.type()));
  if (value.shape() != shape_)
    return error("collected values have shapes {} and {}; they must agree", to_string(shape_),
                 to_string(value.shape()));
  OCTET_CHECK(!count_ || made_ < *count_);
  if (!has_whole_bytes(type_)) {
    list_.push_back(value);
    ++made_;
    return ok_status();
  }
  if (made_ == capacity_) OCTET_TRY(grow());
  const auto place =
      static_cast<size_t>(order_ == CollectOrder::kForward ? made_ : capacity_ - 1 - made_);
  const std::byte* from = value.bytes().data();
  for (int64_t o = 0; o < outer_ && run_bytes_ > 0; ++o, from += run_bytes_) {
    const size_t line = static_cast<size_t>(o) * static_cast<size_t>(capacity_);
    std::memcpy(to_ + (line + place) * run_bytes_, from, run_bytes_);
  }
  ++made_;
  return ok_status();
}

Result<Tensor> Collected::finish(const TypeInfo& type) {
  if (made_ == 0) {
    const int64_t rank = type.has_rank() ? type.rank() : 0;
    const int64_t axis = OCTET_TRY(normalize_axis(axis_, rank + 1));
    if (type.type == DType::kUndefined)
      return error("nothing was collected and its type is unknown; declare the body's outputs");
    return Tensor::zeros(type.type, shape_of_none(type, axis));
  }
  if (!has_whole_bytes(type_)) {
    if (order_ == CollectOrder::kBackward) std::reverse(list_.begin(), list_.end());
    return stack(list_, axis_);
  }
  if (made_ == capacity_) return std::move(all_);
  OCTET_CHECK(!count_);
  Shape shape = shape_;
  shape.insert(shape.begin(), made_);
  return part_of(all_, std::move(shape), 0, static_cast<size_t>(made_) * run_bytes_);
}

} // namespace octet

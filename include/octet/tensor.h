// SPDX-License-Identifier: Apache-2.0
// Tensor: an element type, a shape and immutable, reference-counted bytes (owned, shared or
// mapped).
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "octet/dtype.h"
#include "octet/result.h"

namespace octet {

using Shape = std::vector<int64_t>;

/// The product of the dimensions; an error when it is negative or above 2^62.
Result<int64_t> element_count(std::span<const int64_t> shape);
/// `[2, 3]`.
std::string to_string(std::span<const int64_t> shape);

/// Bytes that stay where they are for as long as someone holds them.
class Buffer {
 public:
  virtual ~Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Owned, zeroed, 64-byte aligned memory; writable until it is shared. Null when there is none.
  static std::shared_ptr<Buffer> allocate(size_t size_bytes);
  /// The file, mapped read-only.
  static Result<std::shared_ptr<Buffer>> map(const std::string& path);
  /// Memory of the caller's that outlives the buffer.
  static std::shared_ptr<Buffer> borrow(std::span<const std::byte> bytes);
  /// Null for mapped and borrowed memory.
  std::byte* writable() { return writable_; }
  /// Lets go of the memory behind a part of a mapped file: it is read again when it is needed.
  /// Other memory stays.
  virtual void page_out(std::span<const std::byte>) const {}

 protected:
  Buffer() = default;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::byte* writable_ = nullptr;
};

/// C++ type -> DType for the types that have one.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType kValue = DType::kFloat32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType kValue = DType::kFloat64;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType kValue = DType::kUint8;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType kValue = DType::kInt8;
};
template <>
struct DTypeOf<uint16_t> {
  static constexpr DType kValue = DType::kUint16;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType kValue = DType::kInt16;
};
template <>
struct DTypeOf<uint32_t> {
  static constexpr DType kValue = DType::kUint32;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType kValue = DType::kInt32;
};
template <>
struct DTypeOf<uint64_t> {
  static constexpr DType kValue = DType::kUint64;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType kValue = DType::kInt64;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType kValue = DType::kBool;
};

class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor&) = default;
  Tensor& operator=(const Tensor&) = default;
  /// A moved-from tensor is empty().
  Tensor(Tensor&& other) noexcept { swap(other); }
  Tensor& operator=(Tensor&& other) noexcept {
    Tensor taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Tensor() = default;
  void swap(Tensor& other) noexcept;

  /// A zeroed tensor that owns its bytes. Errors: a bad shape, or more than 2^40 bytes.
  static Result<Tensor> zeros(DType type, Shape shape);
  /// A view of a part of a buffer. Errors: too few bytes for the shape.
  static Result<Tensor>
  view(DType type, Shape shape, std::shared_ptr<const Buffer> buffer, size_t offset_bytes);
  static Result<Tensor> strings(Shape shape, std::vector<std::string> values);
  /// A tensor of values; aborts when the count is not the shape's (a programmer error).
  template <class T>
  static Tensor of(Shape shape, std::span<const T> values);
  template <class T>
  static Tensor of(Shape shape, std::initializer_list<T> values) {
    return of<T>(std::move(shape), std::span<const T>(values.begin(), values.size()));
  }
  template <class T>
  static Tensor scalar(T value) {
    return of<T>({}, {value});
  }

  DType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t dim(int64_t axis) const { return shape_[static_cast<size_t>(axis)]; }
  int64_t count() const { return count_; }
  bool empty() const { return type_ == DType::kUndefined; }

  /// The packed bytes; empty for strings.
  std::span<const std::byte> bytes() const { return {data_, size_bytes_}; }
  /// The values of a string tensor; aborts on any other.
  const std::vector<std::string>& string_values() const;
  bool is_aligned(size_t alignment) const {
    return reinterpret_cast<uintptr_t>(data_) % alignment == 0;
  }

  /// Typed elements. The type must match and the bytes must be aligned (`aligned()` makes it so).
  template <class T>
  std::span<const T> data() const {
    check_access(DTypeOf<T>::kValue, alignof(T));
    return {reinterpret_cast<const T*>(data_), static_cast<size_t>(count_)};
  }
  /// Writable elements of a tensor made by `zeros`, `of` or `clone` that nobody shares yet (aborts
  /// otherwise).
  template <class T>
  std::span<T> mutable_data() {
    check_access(DTypeOf<T>::kValue, alignof(T));
    return {reinterpret_cast<T*>(mutable_bytes().data()), static_cast<size_t>(count_)};
  }
  std::span<std::byte> mutable_bytes();
  /// `Buffer::page_out` for all bytes, or for a part of them.
  void page_out() const { page_out(bytes()); }
  void page_out(std::span<const std::byte> part) const {
    if (buffer_) buffer_->page_out(part);
  }

  /// This tensor if its bytes are 64-byte aligned, else a copy that is.
  Tensor aligned() const;
  /// A copy that shares nothing.
  Tensor clone() const;
  /// The same bytes under another shape of the same count.
  Result<Tensor> reshaped(Shape shape) const;
  /// The same bytes read as another type of the same width (fp8 codes as u8, bool as u8, ...).
  Result<Tensor> bitcast(DType type) const;

  /// Element `index` as double: every numeric type, sub-byte and fp8 types included.
  double at(int64_t index) const;
  /// All elements converted; strings and complex types are an error.
  Result<std::vector<double>> to_doubles() const;
  Result<std::vector<float>> to_floats() const;
  Result<std::vector<int64_t>> to_ints() const;
  /// Values converted into `type`, round half to even, saturating (see core/codec.h for more).
  static Result<Tensor> from_doubles(DType type, Shape shape, std::span<const double> values);

  /// Hash of type, shape and bytes, stable across runs and machines (computed, not cached).
  uint64_t content_hash() const;
  /// Same type, shape and bytes.
  bool identical(const Tensor& other) const;

 private:
  void check_access(DType type, size_t alignment) const;

  DType type_ = DType::kUndefined;
  Shape shape_;
  int64_t count_ = 0;
  const std::byte* data_ = nullptr;
  size_t size_bytes_ = 0;
  std::shared_ptr<const Buffer> buffer_;
  std::byte* writable_ = nullptr;
  std::shared_ptr<const std::vector<std::string>> strings_;
};

namespace detail {
Tensor tensor_from(DType type, Shape shape, std::span<const std::byte> bytes);
}

template <class T>
Tensor Tensor::of(Shape shape, std::span<const T> values) { // NOLINT: the shape is moved
  return detail::tensor_from(DTypeOf<T>::kValue, std::move(shape), std::as_bytes(values));
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "octet/tensor.h"

#include <algorithm>
#include <cstring>

#include "core/check.h"
#include "core/convert.h"
#include "core/format.h"
#include "core/hash.h"

namespace octet {
namespace {

constexpr int64_t kMaxCount = int64_t{1} << 62;
constexpr int64_t kMaxBytes = int64_t{1} << 40;

Error bad_count(std::string_view what,
                size_t given,
                std::span<const int64_t> shape,
                int64_t count) {
  return error("{} {} given for shape {}, which holds {}; give as many values as the shape holds",
               given, what, to_string(shape), count);
}

} // namespace

Result<int64_t> element_count(std::span<const int64_t> shape) {
  __int128 count = 1;
  bool too_large = false;
  bool has_zero = false;
  for (const int64_t dim : shape) {
    if (dim < 0) {
      return error("shape {} has the negative dimension {}; dimensions must be 0 or more",
                   to_string(shape), dim);
    }
    has_zero |= dim == 0;
    if (!too_large) count *= dim;
    too_large |= count > kMaxCount;
  }
  if (has_zero) return 0;
  if (too_large)
    return error("shape {} has more than 2^62 elements; use a smaller shape", to_string(shape));
  return static_cast<int64_t>(count);
}

std::string to_string(std::span<const int64_t> shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    out += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return out + "]";
}

void Tensor::swap(Tensor& other) noexcept {
  std::swap(type_, other.type_);
  std::swap(shape_, other.shape_);
  std::swap(count_, other.count_);
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(buffer_, other.buffer_);
  std::swap(writable_, other.writable_);
  std::swap(strings_, other.strings_);
}

Result<Tensor> Tensor::zeros(DType type, Shape shape) {
  const int64_t count = OCTET_TRY(element_count(shape));
  if (bits(type) == 0) {
    return error("a tensor of type {} has no bytes to fill with zeros; use a numeric type",
                 name(type));
  }
  const int64_t size_bytes = bytes_for(type, count);
  if (size_bytes > kMaxBytes) {
    return error("a tensor of type {} and shape {} takes {} bytes; the limit is 2^40 bytes, use a "
                 "smaller shape",
                 name(type), to_string(shape), size_bytes);
  }
  std::shared_ptr<Buffer> buffer = Buffer::allocate(static_cast<size_t>(size_bytes));
  if (buffer == nullptr) {
    return error("no memory for the {} bytes of a tensor of type {} and shape {}; use a smaller "
                 "shape or batch",
                 size_bytes, name(type), to_string(shape));
  }
  Tensor out;
  out.type_ = type;
  out.shape_ = std::move(shape);
  out.count_ = count;
  out.writable_ = buffer->writable();
  out.data_ = out.writable_;
  out.size_bytes_ = static_cast<size_t>(size_bytes);
  out.buffer_ = std::move(buffer);
  return out;
}

Result<Tensor>
Tensor::view(DType type, Shape shape, std::shared_ptr<const Buffer> buffer, size_t offset_bytes) {
  OCTET_CHECK(buffer != nullptr);
  const int64_t count = OCTET_TRY(element_count(shape));
  if (bits(type) == 0)
    return error("a tensor of type {} cannot be a view of bytes; use a numeric type", name(type));
  const int64_t wanted = bytes_for(type, count);
  const size_t available = buffer->bytes().size();
  if (offset_bytes > available || static_cast<size_t>(wanted) > available - offset_bytes) {
    return error("a tensor of type {} and shape {} takes {} bytes at offset {}, the data has {} "
                 "bytes; the file is truncated or its shape is wrong",
                 name(type), to_string(shape), wanted, offset_bytes, available);
  }
  Tensor out;
  out.type_ = type;
  out.shape_ = std::move(shape);
  out.count_ = count;
  out.data_ = buffer->bytes().data() + offset_bytes;
  out.size_bytes_ = static_cast<size_t>(wanted);
  out.buffer_ = std::move(buffer);
  return out;
}

Result<Tensor> Tensor::strings(Shape shape, std::vector<std::string> values) {
  const int64_t count = OCTET_TRY(element_count(shape));
  if (static_cast<int64_t>(values.size()) != count)
    return bad_count("strings", values.size(), shape, count);
  Tensor out;
  out.type_ = DType::kString;
  out.shape_ = std::move(shape);
  out.count_ = count;
  out.strings_ = std::make_shared<const std::vector<std::string>>(std::move(values));
  return out;
}

const std::vector<std::string>& Tensor::string_values() const {
  check_access(DType::kString, 1);
  return *strings_;
}

std::span<std::byte> Tensor::mutable_bytes() {
  OCTET_CHECK(writable_ != nullptr && "the tensor owns no writable bytes");
  OCTET_CHECK(buffer_.use_count() == 1 && "nobody else may share bytes that are written");
  return {writable_, size_bytes_};
}

void Tensor::check_access(DType type, size_t alignment) const {
  OCTET_CHECK_EQ(name(type_), name(type));
  OCTET_CHECK(count_ == 0 || is_aligned(alignment));
}

Tensor Tensor::aligned() const {
  if (type_ == DType::kString || is_aligned(64)) return *this;
  return clone();
}

Tensor Tensor::clone() const {
  if (empty()) return {};
  Tensor out = *this;
  if (type_ == DType::kString) {
    out.strings_ = std::make_shared<const std::vector<std::string>>(*strings_);
    return out;
  }
  std::shared_ptr<Buffer> buffer = Buffer::allocate(size_bytes_);
  OCTET_CHECK(buffer != nullptr && "no memory for the copy of a tensor");
  if (size_bytes_ > 0) std::memcpy(buffer->writable(), data_, size_bytes_);
  out.writable_ = buffer->writable();
  out.data_ = out.writable_;
  out.buffer_ = std::move(buffer);
  return out;
}

Result<Tensor> Tensor::reshaped(Shape shape) const {
  const int64_t count = OCTET_TRY(element_count(shape));
  if (count != count_ || empty()) {
    return error("shape {} holds {} elements, the tensor of shape {} holds {}; the counts must "
                 "agree",
                 to_string(shape), count, to_string(shape_), count_);
  }
  Tensor out = *this;
  out.shape_ = std::move(shape);
  return out;
}

Result<Tensor> Tensor::bitcast(DType type) const {
  if (bits(type) == 0 || bits(type) != bits(type_)) {
    return error("type {} has {} bits, type {} has {}; a bitcast needs types of the same width",
                 name(type_), bits(type_), name(type), bits(type));
  }
  Tensor out = *this;
  out.type_ = type;
  return out;
}

double Tensor::at(int64_t index) const {
  OCTET_CHECK(index >= 0 && index < count_);
  return read_double(type_, data_, index);
}

Result<std::vector<double>> Tensor::to_doubles() const {
  std::vector<double> out(type_ == DType::kString ? 0 : static_cast<size_t>(count_));
  OCTET_TRY(read_doubles(type_, bytes(), out));
  return out;
}

Result<std::vector<float>> Tensor::to_floats() const {
  std::vector<float> out(type_ == DType::kString ? 0 : static_cast<size_t>(count_));
  OCTET_TRY(read_floats(type_, bytes(), out));
  return out;
}

Result<std::vector<int64_t>> Tensor::to_ints() const {
  std::vector<int64_t> out(type_ == DType::kString ? 0 : static_cast<size_t>(count_));
  OCTET_TRY(read_ints(type_, bytes(), out));
  return out;
}

Result<Tensor> Tensor::from_doubles(DType type, Shape shape, std::span<const double> values) {
  Tensor out = OCTET_TRY(zeros(type, std::move(shape)));
  if (static_cast<int64_t>(values.size()) != out.count())
    return bad_count("values", values.size(), out.shape(), out.count());
  OCTET_TRY(write_doubles(type, values, out.mutable_bytes()));
  return out;
}

uint64_t Tensor::content_hash() const {
  uint64_t hash = hash_value(static_cast<uint64_t>(type_), static_cast<uint64_t>(rank()));
  for (const int64_t dim : shape_)
    hash = hash_value(static_cast<uint64_t>(dim), hash);
  if (type_ != DType::kString) return hash_bytes(bytes(), hash);
  for (const std::string& text : *strings_)
    hash = hash_bytes(text, hash_value(text.size(), hash));
  return hash;
}

bool Tensor::identical(const Tensor& other) const {
  if (type_ != other.type_ || shape_ != other.shape_) return false;
  if (type_ == DType::kString) return *strings_ == *other.strings_;
  return size_bytes_ == 0 || data_ == other.data_ ||
         std::memcmp(data_, other.data_, size_bytes_) == 0;
}

namespace detail {

Tensor tensor_from(DType type, Shape shape, std::span<const std::byte> bytes) {
  Tensor out = Tensor::zeros(type, std::move(shape)).value();
  OCTET_CHECK_EQ(out.bytes().size(), bytes.size());
  if (!bytes.empty()) std::memcpy(out.mutable_bytes().data(), bytes.data(), bytes.size());
  return out;
}

} // namespace detail
} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// Conversion of tensors between octet and LibTorch.
#include "train/convert.h"

#include <cstring>

#include "train/ops/mapping.h"
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

namespace octet::train {
namespace {

/// One element a byte from packed elements of `width` bits, sign-extended for signed types.
at::Tensor unpack(const octet::Tensor& t) {
  const int width = bits(t.type());
  at::Tensor out = at::empty(t.shape(), scalar_type(t.type()));
  auto* bytes = static_cast<uint8_t*>(out.mutable_data_ptr());
  const std::span<const std::byte> packed = t.bytes();
  const int mask = (1 << width) - 1, sign = 1 << (width - 1);
  for (int64_t i = 0; i < t.count(); ++i) {
    const int64_t bit = i * width;
    const int code = (static_cast<int>(packed[static_cast<size_t>(bit / 8)]) >> (bit % 8)) & mask;
    bytes[i] = static_cast<uint8_t>(is_signed(t.type()) ? (code ^ sign) - sign : code);
  }
  return out;
}

void pack(const uint8_t* bytes, octet::Tensor& out) {
  const int width = bits(out.type());
  const int mask = (1 << width) - 1;
  const std::span<std::byte> packed = out.mutable_bytes();
  for (int64_t i = 0; i < out.count(); ++i) {
    const int64_t bit = i * width;
    packed[static_cast<size_t>(bit / 8)] |= static_cast<std::byte>((bytes[i] & mask) << (bit % 8));
  }
}

} // namespace

at::Tensor to_torch(const octet::Tensor& tensor) {
  TORCH_CHECK(has_scalar_type(tensor.type()), "LibTorch has no element type for ",
              std::string(name(tensor.type())));
  if (bits(tensor.type()) < 8) return unpack(tensor);
  const octet::Tensor held = tensor.aligned();
  return at::from_blob(
      const_cast<std::byte*>(held.bytes().data()), held.shape(), [held](void*) {},
      scalar_type(held.type()));
}

DType dtype_of(at::ScalarType type) {
  for (int32_t code = 1; is_valid(code); ++code) {
    const DType candidate = static_cast<DType>(code);
    if (has_scalar_type(candidate) && bits(candidate) >= 8 && scalar_type(candidate) == type)
      return candidate;
  }
  TORCH_CHECK(false, "octet has no element type for ", type);
}

octet::Tensor from_torch(const at::Tensor& tensor, DType type) {
  const at::Tensor t = tensor.detach().to(at::kCPU).contiguous();
  if (type == DType::kUndefined || scalar_type(type) != t.scalar_type())
    type = dtype_of(t.scalar_type());
  Result<octet::Tensor> out = octet::Tensor::zeros(type, t.sizes().vec());
  TORCH_CHECK(out.ok(), out.error().text());
  if (bits(type) < 8)
    pack(static_cast<const uint8_t*>(t.const_data_ptr()), *out);
  else if (t.numel() > 0)
    std::memcpy(out->mutable_bytes().data(), t.const_data_ptr(), out->bytes().size());
  return std::move(*out);
}

} // namespace octet::train

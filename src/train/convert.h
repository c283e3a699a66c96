// SPDX-License-Identifier: Apache-2.0
// octet tensors as LibTorch tensors and back. Types of less than 8 bits are one element a byte in
// LibTorch.
#pragma once

#include <ATen/core/Tensor.h>

#include "octet/tensor.h"

namespace octet::train {

/// On the CPU; shares the bytes where they are aligned (they must not be written then).
at::Tensor to_torch(const octet::Tensor& tensor);
/// A copy of the elements; `type` tells apart what LibTorch holds alike (u4 and u8), kUndefined
/// takes the plain type.
octet::Tensor from_torch(const at::Tensor& tensor, DType type = DType::kUndefined);
DType dtype_of(at::ScalarType type);

} // namespace octet::train

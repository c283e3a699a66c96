// SPDX-License-Identifier: Apache-2.0
// Operators that make tensors from attributes and shapes. They run by the reference once, when
// their inputs are constants.
#include "train/ops/mapping.h"
#include <ATen/ops/arange.h>

using octet::train::Call;

OCTET_TORCH_REFERENCE(onnx, Constant)
OCTET_TORCH_REFERENCE(onnx, ConstantOfShape)
OCTET_TORCH_REFERENCE(onnx, OneHot)
OCTET_TORCH_REFERENCE(onnx, EyeLike)

OCTET_TORCH(onnx, Range) {
  if (p.type(0) != octet::DType::kInt64) return {}; // floats round as the reference has it
  return [](Call& c) {
    const int64_t start = c.ints(0).at(0), limit = c.ints(1).at(0), step = c.ints(2).at(0);
    const bool empty = step == 0 || (step > 0 ? start >= limit : start <= limit);
    TORCH_CHECK(step != 0, "delta is 0");
    c.out(empty ? at::arange(0, at::kLong) : at::arange(start, limit, step, at::kLong));
  };
}

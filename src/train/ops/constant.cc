// SPDX-License-Identifier: Apache-2.0
// Operators that make tensors from attributes and shapes. They run by the reference once, when
// their inputs are constants.
#include "train/ops/mapping.h"

OCTET_TORCH_REFERENCE(onnx, Constant)
OCTET_TORCH_REFERENCE(onnx, ConstantOfShape)
OCTET_TORCH_REFERENCE(onnx, Range)
OCTET_TORCH_REFERENCE(onnx, OneHot)
OCTET_TORCH_REFERENCE(onnx, EyeLike)

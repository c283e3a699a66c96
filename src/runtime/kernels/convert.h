// SPDX-License-Identifier: Apache-2.0
// Casts between the element types of masks, indices and activations, by the rules of ONNX Cast.
#pragma once

#include <cstdint>

#include "octet/dtype.h"

namespace octet {
class ParallelFor;
}

namespace octet::kernels {

using ConvertFn = void (*)(const void* x, int64_t begin, int64_t end, void* y);

/// From i64, i32, i8, u8 or bool to f32, i64, i32 or bool, and from f32 to bool, f32, f16 or bf16,
/// and from these two to f32; null for others.
ConvertFn conversion(DType from, DType to);

void convert(ConvertFn fn, const void* x, int64_t count, void* y, ParallelFor& parallel);

} // namespace octet::kernels

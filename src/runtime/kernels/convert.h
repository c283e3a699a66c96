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

/// Between f32, f64, bool and the integers of 8 to 64 bits, and between f32 and f16 or bf16; null
/// for others, as from u64, f64 to u64 and u64 from floats.
ConvertFn conversion(DType from, DType to);

void convert(ConvertFn fn, const void* x, int64_t count, void* y, ParallelFor& parallel);

} // namespace octet::kernels

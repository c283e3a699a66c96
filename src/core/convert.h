// SPDX-License-Identifier: Apache-2.0
// The bytes of a tensor as doubles, floats, integers and codes, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/codec.h"

#include "octet/result.h"

namespace octet {

/// The raw code of element `index` of a type of at most 8 bits: sub-byte elements lie low bits
/// first (f6: four codes in three bytes).
uint8_t get_code(DType type, const std::byte* data, int64_t index);
void put_code(DType type, std::byte* data, int64_t index, uint8_t code);

/// One element. Any type but strings and complex (a programmer error).
double read_double(DType type, const std::byte* data, int64_t index);

// Bulk conversion. `data` holds at least the elements of the other span, packed; it need not be
// aligned. An error for strings and complex types.
Status read_doubles(DType type, std::span<const std::byte> data, std::span<double> out);
Status read_floats(DType type, std::span<const std::byte> data, std::span<float> out);
/// Floats are rounded half to even and saturate; NaN gives 0.
Status read_ints(DType type, std::span<const std::byte> data, std::span<int64_t> out);
/// Integers: round half to even, then saturate (always: `saturate` is about floats); NaN gives 0.
/// Bool: not zero. f16 and bf16 and f32 follow IEEE (overflow gives infinity) whatever `saturate`.
Status write_doubles(DType type,
                     std::span<const double> values,
                     std::span<std::byte> data,
                     Saturate saturate = Saturate::kYes);
Status write_floats(DType type,
                    std::span<const float> values,
                    std::span<std::byte> data,
                    Saturate saturate = Saturate::kYes);
/// Integers into integers saturate or wrap; into floats they are rounded once.
Status write_ints(DType type,
                  std::span<const int64_t> values,
                  std::span<std::byte> data,
                  Saturate saturate = Saturate::kYes);

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// NumPy's strings of one length: 'U', code points of 4 bytes, and 'S', bytes; NULs fill them up.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "octet/tensor.h"

namespace octet {

/// Bytes of an element of type code `U5` or `S5` (no byte order in front); 0: no such type, or no
/// room for a character.
size_t npy_string_bytes(std::string_view code);

/// `element` bytes each, in words of 4 ('U', in the machine's order) or 1 ('S'); there are as many as
/// the shape has. `name` begins errors: a code point that Unicode does not have.
Result<Tensor> npy_strings(Shape shape,
                           std::span<const std::byte> elements,
                           size_t element,
                           size_t word,
                           const std::string& name);

struct NpyTexts {
  size_t characters; ///< of each
  Tensor codes;      ///< u8 of all bytes
};
/// Strings as 'U'. Errors: as npy_parts.
Result<NpyTexts> npy_texts(const Tensor& strings);

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// Memory of tensors that are larger than memory should be: what is mapped from a file can be let go
// of and read again.
#pragma once

#include <cstddef>
#include <span>

#include "octet/tensor.h"

namespace octet {

/// Tensors from here on are read in pieces and let go of where whole models pass by.
inline constexpr size_t kLargeTensorBytes = size_t{16} << 20;
/// How much of a large tensor is looked at in one go.
inline constexpr size_t kPieceBytes = size_t{8} << 20;

/// Lets go of the memory behind mapped bytes: what was read once need not stay. Bytes that are not
/// mapped stay (there is nothing to read them from again).
void page_out(std::span<const std::byte> bytes);

/// The same tensor, mapped from a file without a name in the folder for temporary files (TMPDIR or
/// /tmp). Errors: the folder is full or cannot be written.
Result<Tensor> move_to_file(const Tensor& tensor);

} // namespace octet

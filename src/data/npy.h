// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files, format versions 1 to 3: either memory order, either byte order.
// Source: numpy.lib.format (NEP 1).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/atomic_file.h"

#include "octet/tensor.h"

namespace octet {

/// The array in `length` bytes of `buffer` from `offset` on; a view of them where order and
/// alignment of bytes allow. `name` begins every error. Errors: not an .npy file, truncated, bytes
/// left over, Python objects, structured types, too large.
Result<Tensor> parse_npy(std::shared_ptr<const Buffer> buffer,
                         size_t offset,
                         size_t length,
                         const std::string& name);
/// The file, mapped.
Result<Tensor> read_npy(const std::string& path);

/// The header of version 1.0 that makes `tensor.bytes()` an .npy file. Errors: a type that NumPy
/// has no name for (strings, bf16, fp8, sub-byte types); the message says what to convert to.
Result<std::string> npy_header(const Tensor& tensor);
Status write_npy(const std::string& path, const Tensor& tensor, Overwrite overwrite);

} // namespace octet

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
/// alignment of bytes allow. Texts ('U') become UTF-8, byte strings ('S') stay as they are; NULs at
/// their ends are padding, as for NumPy. `name` begins every error. Errors: not an .npy file,
/// truncated, bytes left over, Python objects, structured types, code points that Unicode does not
/// have, too large.
Result<Tensor> parse_npy(std::shared_ptr<const Buffer> buffer,
                         size_t offset,
                         size_t length,
                         const std::string& name);
/// The file, mapped.
Result<Tensor> read_npy(const std::string& path);

/// A tensor as an .npy file: the header of version 1.0, and behind it the bytes of `elements`, which
/// are the tensor's own, or for strings UTF-32 as NumPy's 'U' has it.
struct NpyParts {
  std::string header;
  Tensor elements;
};
/// Errors: a type that NumPy has no name for (bf16, fp8, sub-byte types); the message says what to
/// convert to. Strings that are no UTF-8, end in NUL (NumPy would drop it), or take more than 2^32
/// bytes when each is as long as the longest.
Result<NpyParts> npy_parts(const Tensor& tensor);
Status write_npy(const std::string& path, const Tensor& tensor, Overwrite overwrite);

} // namespace octet

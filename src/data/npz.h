// SPDX-License-Identifier: Apache-2.0
// NumPy's .npz files: zip archives of .npy members, stored or deflated, zip64 included.
// Source: numpy.savez; PKWARE APPNOTE 6.3.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/atomic_file.h"

#include "octet/tensor.h"

namespace octet {

/// Arrays by name (without ".npy"), in the order of the archive.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Stored arrays are views of the buffer. `name` begins every error. Errors: not a zip archive,
/// truncated, a wrong checksum, encrypted, an unknown compression, members that overlap, more than
/// `limit_bytes` in all.
Result<NamedTensors> parse_npz(const std::shared_ptr<const Buffer>& buffer,
                               const std::string& name,
                               uint64_t limit_bytes = uint64_t{1} << 36);
/// The file, mapped.
Result<NamedTensors> read_npz(const std::string& path);

/// Writes stored (not deflated) members, each aligned to 64 bytes. Errors: as npy_parts, a name
/// used twice, 4 GiB or more (write .npy files then).
Status write_npz(const std::string& path, const NamedTensors& tensors, Overwrite overwrite);

} // namespace octet

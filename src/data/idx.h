// SPDX-License-Identifier: Apache-2.0
// IDX, the format of MNIST and its relatives, gzipped or plain: two zero bytes, a type code, the
// rank, the sizes as big-endian u32, the elements in big-endian order.
// Source: yann.lecun.com/exdb/mnist, "The IDX file format".
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "octet/tensor.h"

namespace octet {

/// `name` begins every error. Errors: wrong magic, truncated, bytes left over, too large.
Result<Tensor> parse_idx(std::span<const std::byte> bytes, const std::string& name);
/// The unpacked file may have up to 2^32 bytes.
Result<Tensor> read_idx(const std::string& path);

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// The weights of MatMulNBits (com.microsoft): a matrix [N, K] of codes of 2, 4 or 8 bits, cut along
// K into blocks of block_size with a scale and a zero point each. Inputs 1 to 4: codes (u8
// [N, blocks, block_size * bits / 8], low bits first), scales [N, blocks], zero points? (u8
// [N, ceil(blocks * bits / 8)], packed as codes are, or numbers [N, blocks]; 2^(bits - 1) without),
// g_idx? ([K]: the block whose scale a column takes).
#pragma once

#include <optional>
#include <vector>

#include "ops/shared/validate.h"

namespace octet::ms {

struct BlockCodes {
  int64_t rows = 0, columns = 0; ///< N, K
  int64_t bits = 4, block = 32;

  int64_t blocks() const { return (columns + block - 1) / block; }
  int64_t block_bytes() const { return block * bits / 8; }
  int64_t zero_bytes() const { return (blocks() * bits + 7) / 8; }
};

/// Errors: sizes or bits that no such matrix has.
Result<BlockCodes> parse_block_codes(const Node& node);
/// Inputs 1 to 4 of the node, as far as is known.
Status check_block_codes(const InferContext& ctx, const BlockCodes& w);
/// Inputs 0 to 4 of the node where 1 to 4 are constants that fit, the first empty; else nothing.
std::optional<std::vector<Tensor>>
constant_block_codes(const Graph& graph, const Node& node, const BlockCodes& w);
/// Code `i` of packed bytes.
inline uint8_t packed_code(const uint8_t* bytes, int64_t i, int64_t bits) {
  const int64_t each = 8 / bits;
  return static_cast<uint8_t>(bytes[i / each] >> (i % each * bits) & ((1 << bits) - 1));
}
/// [N, K]: (code - zero point) * scale. `inputs`: of the node, and checked.
Result<std::vector<double>> block_values(const BlockCodes& w, std::span<const Tensor> inputs);

} // namespace octet::ms

// SPDX-License-Identifier: Apache-2.0
// Weights behind DequantizeLinear as integer products multiply them.
#pragma once

#include "ops/qdq/site.h"

namespace octet::qdq {

/// Integer codes of at most 8 bits of a constant, in the file or made of constants alone, with f32
/// scales.
struct StoredCodes {
  Tensor codes;
  Grid grid;
};
/// The DQ of such codes, which are not computed for it; one zero point may stand for all scales.
Found<Site> stored_site(const Graph& graph, ValueId real);
/// Of what DQ makes of them.
Found<StoredCodes> stored_codes(const Graph& graph, ValueId real);
/// The same codes and zero points, a byte each.
StoredCodes in_bytes(StoredCodes stored);
/// The same numbers as int8 codes with zero point 0. kSeveralZeros, kOutOfInt8.
Found<StoredCodes> symmetric_int8(const StoredCodes& stored);

/// The same numbers as codes less their zero points, which may differ by channel: int8 where that
/// holds them, else i16 in [least, most]. kOutOfInt8 beyond, kGranularity of blocks.
Found<StoredCodes> less_zeros(const StoredCodes& stored, int64_t least, int64_t most);

} // namespace octet::qdq

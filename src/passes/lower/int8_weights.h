// SPDX-License-Identifier: Apache-2.0
// Weights of ConvInteger and MatMulInteger as int8 codes around 0, which integer kernels multiply.
#pragma once

#include <optional>
#include <vector>

#include "passes/lower/context.h"

namespace octet::lowering {

// Sums of so many products of 255 and 255 stay in 32 bits.
inline constexpr int64_t kMostIntegerTerms = 32768;

struct Int8Weights {
  Tensor codes; ///< i8 [channels, ...]; where there is a `left`, a channel of ones more
  std::vector<int32_t> left; ///< by channel: what is still to be taken off the weights; or none
};
/// Codes less their zero point, one or one for each channel (null: 0), where that fits int8. Else,
/// of u8 codes and only with `sums_up`, codes - 128 and what is left of the zero points; the last
/// channel then sums x up. nullopt: neither.
std::optional<Int8Weights>
int8_weights(const Tensor& channels_first, const Tensor* zero, bool sums_up);

/// sums[.., :O] - left * sums[.., O:] along the last of `rank` axes; sums itself where nothing is
/// left.
ValueId
without_left(Context& c, const Node& node, ValueId sums, const Int8Weights& weights, int64_t rank);

} // namespace octet::lowering

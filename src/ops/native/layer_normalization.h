// SPDX-License-Identifier: Apache-2.0
// The attributes of octet.native LayerNormalization.
#pragma once

#include <vector>

#include "ops/native/epilogue.h"

namespace octet::native {

/// What a LayerNormalization gives: outputs in this order, as far as they are asked for.
struct LayerNormOutputs {
  static constexpr size_t kMaxCodes = 4;
  struct Codes {
    float scale = 1;
    int32_t zero = 0;
    DType to = DType::kInt8;
    bool operator==(const Codes&) const = default;
  };
  bool floats = true;
  bool sum = false; ///< x + residual
  std::vector<Codes> codes;
};
/// Errors: lists of different lengths or more than kMaxCodes; no codes of the type; no output.
Result<LayerNormOutputs> parse_layer_norm(const Node& node);

} // namespace octet::native

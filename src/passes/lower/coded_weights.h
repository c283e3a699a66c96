// SPDX-License-Identifier: Apache-2.0
// Weights of products that stay codes while activations are floats.
#pragma once

#include <functional>
#include <optional>

#include "octet/graph.h"

namespace octet::lowering {

/// The weights of CodedGemm: numbers (code - zero) * scale.
struct CodedWeights {
  Tensor codes;      ///< [N, K]
  Tensor scales;     ///< [N, blocks] f32
  Tensor zeros;      ///< [N, blocks] of the codes' type; empty: 0
  int64_t block = 0; ///< elements along K that share a scale; 0: all of them
};

/// Of a matrix that DequantizeLinear makes of constants, also through a Transpose: [N, K] where it is
/// `turned`, else [K, N]. nullopt: it is something else, its scales run along K or its blocks along
/// N, or its codes are of a type that CodedGemm does not take.
std::optional<CodedWeights> coded_weights(const Graph& graph, ValueId matrix, bool turned);

/// What `move` makes of codes of any type, which it is given one a byte.
Tensor moved_codes(const Tensor& codes, const std::function<Tensor(const Tensor&)>& move);

} // namespace octet::lowering

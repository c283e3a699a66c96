// SPDX-License-Identifier: Apache-2.0
// How large the scores of an attention can be, whatever it attends to.
#pragma once

#include <optional>

#include "octet/graph.h"

namespace octet::packing {

enum class Effort {
  kQuick, ///< looks at each weight once
  kFull,  ///< multiplies the weights of queries and keys: some 0.5 s for BERT base
};

/// A number that no score q k^T of a lowered Attention or QAttention exceeds in magnitude: of codes
/// from their types, of floats that are products of a normalization from the weights. Nullopt:
/// nothing is known.
std::optional<double> score_bound(const Graph& graph, const Node& attention, Effort effort);

} // namespace octet::packing

// SPDX-License-Identifier: Apache-2.0
// Products of codes before they are lowered, and factors of their output channels.
#pragma once

#include <span>

#include "ops/qdq/stored.h"
#include "passes/rewrite.h"

namespace octet::lowering {

/// Whether a node hands on every element of its first input, elsewhere.
bool moves_elements(const Node& node);
/// The DQ whose numbers a value is, moved or not; else null.
const Node* dequantizer_of(const Graph& graph, ValueId id);

/// Conv, Gemm or MatMul of a matrix, whose operands are DQ of codes that integer kernels take.
struct CodedProduct {
  const Node* node;
  int64_t weight_axis; ///< of the weights, along which channels run
  int64_t axis;        ///< of the result
  int64_t channels;
};
/// The product that makes a value of known rank; nullopt where none does. Weights are not computed for
/// it.
std::optional<CodedProduct> coded_product(const Graph& graph, ValueId result);

/// The weights with each output channel times its factor, in their scales; a factor below 0 turns
/// the codes. Nullopt: blocks, a scale that would be no normal number, or codes that cannot be
/// turned.
std::optional<qdq::StoredCodes>
scaled_channels(const qdq::StoredCodes& weights, int64_t axis, std::span<const double> factors);

} // namespace octet::lowering

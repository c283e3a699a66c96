// SPDX-License-Identifier: Apache-2.0
// The products that certify looks at: stored int8 weights as a matrix, activations as uint8 codes.
#pragma once

#include <vector>

#include "octet/graph.h"

namespace octet {

struct StoredProduct {
  NodeId node;
  NodeId weight_dq;   ///< the DequantizeLinear of the weights
  ValueId activation; ///< codes in front of the activation's DequantizeLinear
  int32_t offset = 0; ///< makes them uint8: 128 for int8
  int32_t zero = 0;   ///< uint8 zero point, which padding holds
  int32_t lowest = 0, highest = 255;
  int64_t channels = 0, terms = 0, groups = 1;
  std::vector<int8_t> weights; ///< [channels, terms], terms in the order in which they are added
};

/// Every product with stored int8 weights behind Q/DQ, in the graph's order.
std::vector<StoredProduct> find_stored_products(const Graph& graph);

/// Where element (channel, term) of the matrix stands in the node's weight tensor.
int64_t
weight_index(const Graph& graph, const StoredProduct& product, int64_t channel, int64_t term);

/// uint8 codes of one sum's activations at some positions: [positions, terms] for each group.
/// `codes` is the activation's tensor. Evenly spaced positions, at most `limit`.
struct Positions {
  int64_t count = 0;
  std::vector<uint8_t> codes; ///< [count, groups, terms]
};
Result<Positions> gather_positions(const Graph& graph,
                                   const StoredProduct& product,
                                   const Tensor& codes,
                                   int64_t limit);

} // namespace octet

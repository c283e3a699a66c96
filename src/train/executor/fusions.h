// SPDX-License-Identifier: Apache-2.0
// Groups of nodes that LibTorch has one differentiable function for.
//
//   MatMul(x, w[K, O]) + b[O]                                    linear
//   MatMul(q, k^T) [* c] [+ mask], Softmax, [Dropout], MatMul v  scaled_dot_product_attention
//   0.5 x (1 + erf(x / sqrt 2)), factors in any order            gelu
//   (x - mean) / sqrt(variance + e) * gain + bias                layer_norm
//
// Numbers change by rounding only. A group is one step where nothing else reads what is inside of
// it.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "train/ops/mapping.h"

#include "octet/graph.h"

namespace octet::train {

struct Fusion {
  std::vector<NodeId> nodes; ///< all of them; the last one's output is the group's
  std::vector<ValueId> inputs;
  Apply apply;
  bool is_linear = false; ///< the first of the above: its weight is the second input
};

/// The groups by their last node. Values of `wanted` stay visible.
std::map<NodeId, Fusion>
find_fusions(const Graph& graph, const Uses& uses, const std::vector<ValueId>& wanted);

} // namespace octet::train

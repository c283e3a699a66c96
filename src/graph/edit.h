// SPDX-License-Identifier: Apache-2.0
// Edits of a graph in place that several passes want, beyond those that Graph itself has.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "graph/live_uses.h"

#include "octet/graph.h"

namespace octet {

/// Removes a node; `result` takes the uses and the name of its first output, and its type unless
/// it is a constant, which has one.
void replace_node(Graph& graph, NodeId node, ValueId result);
/// The same with `uses` kept up to date, which costs no walk over the graph.
void replace_node(Graph& graph, LiveUses& uses, NodeId node, ValueId result);
/// The same of the first outputs, as many as `results`; those that are left out take none.
void replace_node(Graph& graph, LiveUses& uses, NodeId node, std::span<const ValueId> results);

/// A shape or a list of axes as a constant i64[n].
Tensor int_list(std::span<const int64_t> values);

/// A matrix of bytes with its axes exchanged.
Tensor transposed(const Tensor& matrix);

/// Moves an attribute of integers to an input of the node, as a constant named after both. An empty
/// or missing one leaves the input as it is.
void ints_to_input(Graph& graph, NodeId node, std::string_view attribute, size_t input);

} // namespace octet

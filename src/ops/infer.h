// SPDX-License-Identifier: Apache-2.0
// Shape and type inference over a whole graph.
#pragma once

#include <map>
#include <vector>

#include "ops/op.h"

namespace octet {

enum class UnknownOp {
  kIgnore, ///< outputs of an operator without a definition keep the types they have
  kRefuse, ///< an error names the node
};

/// Fills in the types of all values, subgraphs included. Errors name the node and what does not
/// fit.
Status infer_types(Graph& graph, UnknownOp unknown = UnknownOp::kIgnore);
/// A body of one of the graph's nodes as a graph to look at by itself: with the operator sets and
/// the captures' types of the graph around it, and captured constants as constants.
Graph standing_alone(const Graph& outer, const Graph& body);
/// What is known of small integer tensors (shape computations), by value.
using KnownElements = std::map<ValueId, std::vector<Dim>>;
/// The same; `elements` becomes what the walk knew of integer tensors that are no constants.
Status infer_types(Graph& graph, KnownElements& elements);
/// Fills in types for a run: what operators say goes before shapes that were declared, which only
/// fill in what does not follow from the inputs. `trusted` becomes whether they had to.
Status infer_types_to_run(Graph& graph, KnownElements& elements, bool& trusted);
/// Fills in the types of one node's outputs from those of its inputs.
Status infer_node(Graph& graph, NodeId node, UnknownOp unknown = UnknownOp::kIgnore);
/// What is known of the inputs of one node (types, constants), for quant traits and rules.
std::vector<InputInfo> input_infos(const Graph& graph, const Node& node);

} // namespace octet

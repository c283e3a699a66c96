// SPDX-License-Identifier: Apache-2.0
// Shape and type inference over a whole graph.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/op.h"

namespace octet {

enum class UnknownOp {
  kIgnore, ///< outputs of an operator without a definition keep the types they have
  kRefuse, ///< an error names the node
};

/// Fills in the types of all values, subgraphs included. What the file declares of intermediates
/// and outputs is a hint: it fills in what operators leave open, and where they compute another
/// element type or shape that one counts. Where nothing fits with what is declared of values that
/// operators leave open, and all does without, shapes are not declared. Errors name the node and
/// what does not fit.
Status infer_types(Graph& graph, UnknownOp unknown = UnknownOp::kIgnore);
/// A body of one of the graph's nodes as a graph to look at by itself: with the operator sets and
/// the captures' types of the graph around it, and captured constants as constants.
Graph standing_alone(const Graph& outer, const Graph& body);
/// The elements of an integer tensor that is small enough to be followed through inference.
std::optional<std::vector<Dim>> small_integers(const Tensor& tensor);
/// What is known of small integer tensors (shape computations), by value.
using KnownElements = std::map<ValueId, std::vector<Dim>>;
/// A value whose declared type cannot be true.
struct Disagreement {
  std::string value; ///< its name, in a body behind what leads there: `Loop "l": y`
  bool in_body = false;
  TypeInfo declared, computed;
  /// `"y" is declared f32[1] but computes f32[2]`.
  std::string text() const;
};
/// What a walk over a graph found beside types.
struct Inferred {
  KnownElements elements; ///< of integer tensors that are no constants
  std::vector<Disagreement> disagreements;
  /// Sizes that are only declared were filled in.
  bool trusted = false;
};
/// As infer_types. `told`: elements of integer tensors that are known beforehand.
Result<Inferred> infer(Graph& graph, const KnownElements& told = {});
/// What the operator of one node says of its outputs when `elements` are known.
Result<std::vector<OutputInfo>>
infer_outputs(const Graph& graph, NodeId node, const KnownElements& elements);
/// What an operator says of a value, and what is declared where it leaves something open.
TypeInfo filled_in(const TypeInfo& declared, TypeInfo inferred);
/// The types that a node gives to the inputs of its bodies, from those of its own inputs.
using BodyTypes = std::map<const Graph*, std::vector<TypeInfo>>;
BodyTypes types_into_bodies(const Graph& graph, const Node& node);
/// standing_alone, with those types of its inputs.
Graph typed_body(const Graph& outer, const Graph& body, const BodyTypes& types);
/// An error where types that the graph holds, not counting bodies, were contradicted.
Status must_agree(const Inferred& found);
/// As infer_node; an error where that contradicts the types that the outputs have.
Status infer_agreeing(Graph& graph, NodeId node);
/// Each value once whose declared type is not what its operator computes; also of a graph whose
/// types do not fit together, as far as they do.
std::vector<Disagreement> disagreements(const Graph& graph);
/// Fills in the types of one node's outputs from those of its inputs.
Status infer_node(Graph& graph, NodeId node, UnknownOp unknown = UnknownOp::kIgnore);
/// What is known of the inputs of one node (types, constants), for quant traits and rules.
std::vector<InputInfo> input_infos(const Graph& graph, const Node& node);

} // namespace octet

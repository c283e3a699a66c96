// SPDX-License-Identifier: Apache-2.0
// Decides, from the graph and a target's placement alone, what each node becomes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "quant/placement.h"

#include "octet/quantize.h"

namespace octet {

/// One entry for each node, in topological order. The graph is simplified and has types. Nodes named
/// in `in_float` stay there, with the rule kCostsAccuracy; products named in `float_outputs`, whose
/// rule is kUnlessCostly, hand on float. Errors: an include or exclude pattern that matches no node.
Result<std::vector<NodePlan>> place(const Graph& graph,
                                    const Placement& placement,
                                    const QuantizeOptions& options,
                                    const std::set<std::string>& in_float = {},
                                    const std::set<std::string>& float_outputs = {});

/// The same for the dynamic and the weight-only mode: which weights are stored in 8 bits.
Result<std::vector<NodePlan>> place_weights(const Graph& graph,
                                            const Placement& placement,
                                            const QuantizeOptions& options,
                                            const std::set<std::string>& in_float = {});

/// Why a node of `in_float` stays there.
constexpr std::string_view kWhyInFloat = "in 8 bits it costs more accuracy than it is worth";
/// What is said of a node of `float_outputs` beside its rule's reason.
constexpr std::string_view kWhyFloatOutput =
    "its output stays in float: nothing reads codes there, which cost accuracy";

/// Completes the entry of a Gather: quantized when it gathers rows of an f32 table and the target
/// takes codes there.
NodePlan place_embedding(const Graph& graph,
                         const Placement& placement,
                         const QuantizeOptions& options,
                         const Node& node,
                         NodePlan plan);

/// Why a node counts as in codes already: it is Q or DQ, or reads what DQ makes; empty: it does
/// not.
std::string_view in_codes_already(const Graph& graph, const Node& node);

/// What the include and exclude patterns say of a node: nothing, `kExcluded` or `kNotIncluded`.
std::optional<Placed> pattern_verdict(const QuantizeOptions& options, const Node& node);
/// How the weights of a node, and the activations that it reads, are stored.
struct NodeFormat {
  int weight_bits = 8;
  bool per_channel = true;
  int activation_bits = 8;
  std::optional<Calibrator> calibrator; ///< of activations, where a layer's format says so
  std::optional<NumberFormat> weights, activations; ///< none: bytes, of so many bits
  bool dynamic = false;                             ///< as LayerFormat::dynamic

  bool byte_weights() const { return !weights || is_byte(*weights); }
  bool byte_activations() const { return !activations || is_byte(*activations); }
  bool float_weights() const { return weights && is_float(*weights); }
  bool float_activations() const { return activations && is_float(*activations); }
};
NodeFormat node_format(const QuantizeOptions& options, const Node& node);
/// Completes the entry of a node with weights whose activations are quantized at every run, or
/// where it has no such form stay in float.
NodePlan place_dynamic(const Placement& placement,
                       const QuantizeOptions& options,
                       const Node& node,
                       const Tensor& weight,
                       NodePlan plan);
/// The same for weights that are stored in codes and computed with in float. `instead`: why it is
/// not dynamic; empty: nobody asked for that.
NodePlan place_weight_only(const NodeFormat& format, std::string_view instead, NodePlan plan);

/// Whether the pattern of a layer's format matches a node.
bool matches(const LayerFormat& layer, const Node& node);
/// An error for a pattern that matches no node and no operator.
Status check_patterns(const Graph& graph, const QuantizeOptions& options);

} // namespace octet

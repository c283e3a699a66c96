// SPDX-License-Identifier: Apache-2.0
// Which layers 16 bits cannot compute.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "octet/export.h"

namespace octet {

/// What 16-bit types hold.
struct HalfRange {
  double largest;   ///< finite
  double precision; ///< of normal numbers: half a step, as a part of the number
};
HalfRange half_range(DType type);
/// `value` as the type holds it.
double as_half(double value, DType type);

/// Why a node stays in f32 whatever its values are; nullopt: it may become 16 bits.
std::optional<std::string> float_by_operator(const Graph& graph, const Node& node, DType type);
/// The operator set, the graph's or a later one, from which on ONNX's operator takes `type` in
/// place of f32; 0: none does.
int64_t half_since(const Graph& graph, const Node& node, DType type);
/// Why a node stays in f32 by what is known of its values: constants and seen ranges.
std::optional<std::string>
float_by_values(const Graph& graph, const Node& node, const PrecisionOptions& options);
/// A Cast to integers, which cuts off what is behind the point: 1.999 in place of 2 is another one.
bool casts_to_integers(const Node& node);
/// Nodes whose results end in such Casts and nowhere else, element by element, moved, or summed: the
/// positions, buckets and lengths that a network counts in floats. The graph has its types.
Result<std::set<NodeId>> counting_nodes(const Graph& graph);
/// Whether a constant that is too large may be clamped there: a mask or a bound, no factor.
bool may_clamp(const Node& node, size_t input);

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// What the repairs of operators on codes share: they become the float operator between DQ and Q,
// with the file's own scales and zero points.
#pragma once

#include "targets/repair/coding.h"

namespace octet {

/// A tensor of codes with its scale and zero point (which may be omitted).
struct CodedInput {
  ValueId codes, scale, zero;
};
/// Inputs first, first + 1 and first + 2 of a node.
CodedInput coded_input(const Node& node, size_t first);

/// DQ of it; `axis` is written where there are several scales or zero points, and the lone number
/// of the other is then repeated. Nullopt where the scale is computed, where zero points vary along
/// two axes or along an unknown one (`axis` < 0), or where the operator set is too old for several.
std::optional<ValueId> emit_values(Patch& patch,
                                   const RepairContext& context,
                                   const CodedInput& input,
                                   int64_t axis,
                                   const std::string& name);
/// The same with `scale`, for an input that has no scale of its own (`input.scale` is invalid).
std::optional<ValueId> emit_values(Patch& patch,
                                   const RepairContext& context,
                                   const CodedInput& input,
                                   const Tensor& scale,
                                   int64_t axis,
                                   const std::string& name);
/// Q of `y` with the scale and zero point of two inputs, in place of the node's output.
void replace_by_codes(Patch& patch,
                      const Node& node,
                      ValueId y,
                      ValueId scale,
                      ValueId zero,
                      const std::string& name);
/// int32 codes with scale `factor` * `scale` (one, or one for each of the last axis' elements, or
/// of the first where there is one axis) as a float constant.
std::optional<Tensor>
float_bias(const Graph& graph, ValueId codes, double factor, const Tensor& scale);
/// What float sums of K products of codes may be off from exact ones: (K + 2) 2^-24 sum |a||b|, for
/// codes at most 255 from their zero points and `scales`, the product of both scales. K is b's
/// size on `axis` (negative, from the end); nullopt where that is not known.
std::optional<double>
product_rounding(const Graph& graph, ValueId b, int64_t axis, std::optional<double> scales);
/// One step of an output's scale: what a tie may cost.
std::optional<double> one_step(const Graph& graph, ValueId scale);

} // namespace octet

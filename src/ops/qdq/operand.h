// SPDX-License-Identifier: Apache-2.0
// Operands of operators on codes (QLinearConv, QGemm, ...): the codes, their scale and their zero
// point are three inputs, which a Q or DQ reads alike.
#pragma once

#include <optional>
#include <string>

#include "graph/patch.h"

namespace octet::qdq {

/// A tensor of codes with its scale and zero point (which may be omitted).
struct Operand {
  ValueId codes, scale, zero;
};
/// Inputs first, first + 1 and first + 2 of a node.
Operand operand_at(const Node& node, size_t first);

/// Its scales; null where they are computed.
const Tensor* scales_of(const Graph& graph, const Operand& operand);
/// Nullopt where there are several, or they are computed.
std::optional<double> one_scale(const Graph& graph, const Operand& operand);

/// DQ of it; `axis` is written where there are several scales or zero points, and the lone number
/// of the other is then repeated. Nullopt where the scale is computed, where zero points vary along
/// two axes or along an unknown one (`axis` < 0), or where the operator set is too old for several.
std::optional<ValueId> emit_operand(
    Patch& patch, const Graph& graph, const Operand& input, int64_t axis, const std::string& name);
/// The same with `scale`, for an input that has no scale of its own (`input.scale` is invalid).
std::optional<ValueId> emit_operand(Patch& patch,
                                    const Graph& graph,
                                    const Operand& input,
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

} // namespace octet::qdq

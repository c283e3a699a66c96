// SPDX-License-Identifier: Apache-2.0
// What the forms of a Q/DQ graph share: the codes before an operator and the Q behind it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/domains.h"
#include "ops/qdq/site.h"
#include "passes/rewrite.h"

namespace octet {

/// What operators on codes take and make: f32 scales, of one axis at most.
inline constexpr qdq::Reading kForForms{.f32_scale = true, .known_axis = true};

/// The Q with one scale that alone reads a value, past a clamp whose work it does by itself.
struct CodedOutput {
  qdq::Site quantize;
  const Node* clamp = nullptr;

  DType type() const { return quantize.grid.codes; }
};
std::optional<CodedOutput> coded_output(const RuleContext& context, ValueId value);

/// ONNX Runtime has kernels for few pairs of uint8 and int8: where a layer mixes them otherwise,
/// its int8 codes become uint8, as far as their Q and DQ alone know them.
std::optional<Patch> unsigned_layer(const RuleContext& context,
                                    std::span<const qdq::Site> inputs,
                                    const std::optional<CodedOutput>& output);

/// int32 codes of a bias for the product of `x` and `w`, at alpha / beta of its scales: of a float
/// constant the nearest, of codes behind DQ those that mean the same. `ok` is false where there is
/// a bias that cannot be one.
struct BiasCodes {
  bool ok = true;
  ValueId codes; ///< invalid: no bias
};
BiasCodes bias_codes(
    Patch& patch, const Graph& graph, const Node& node, const qdq::Site& x, const qdq::Site& w);

RuleFn one_type_of_product, one_type_around;
RuleFn qlinear_conv, qlinear_matmul, integer_matmul, qgemm_form;
RuleFn qlinear_around, qlinear_concat, qlinear_where;
RuleFn move_on_codes, drop_pair;
RuleFn add_matmul_bias, bias_gelu;

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// What rules ask about the neighbours of a node, in words that read as the expression they match.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "passes/rewrite.h"

namespace octet {

/// The node of ai.onnx that makes a value, when it is of this type; else null.
const Node* made_by(const Graph& graph, ValueId id, std::string_view op_type);
/// The consumer, when there is no other use and it is of this type; else null.
const Node* only_consumer(const RuleContext& context, ValueId id, std::string_view op_type);

/// The number behind a floating constant of one element.
std::optional<double> number(const Graph& graph, ValueId id);
/// Whether it is `want`, as close as its type comes.
bool is_number(const Graph& graph, ValueId id, double want);
/// The other operand of a node of two, when one of them is `one`.
ValueId other_than(const Node& node, ValueId one);
/// The other operand, when one of them is the number.
ValueId beside_number(const Graph& graph, const Node& node, double want);
/// The integers of a constant, or what inference knows of it when all of that is constant.
std::optional<std::vector<int64_t>> known_ints(const RuleContext& context, ValueId id);
/// An attribute, or from a later operator set on the input that took its place; nullopt when that
/// is not constant. Empty when there is neither.
std::optional<std::vector<int64_t>>
ints_of(const RuleContext& context, const Node& node, std::string_view attribute, size_t input);

/// The same element type and the same shape for every value of the symbols.
bool same_type(const TypeInfo& a, const TypeInfo& b);
/// Every element of the constant is `want`; false for an empty one.
bool all_equal(const Tensor& tensor, double want);

} // namespace octet

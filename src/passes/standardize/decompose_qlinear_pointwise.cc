// SPDX-License-Identifier: Apache-2.0
//   com.microsoft.QLinearAdd, Mul, Concat, Where, Sigmoid, LeakyRelu, Softmax
//   =>   DQ of each input ─▶ Add, Mul, Concat, ... ─▶ Q
// The result is rounded to float before Q: a tie may take the other code, one step.
// Source: docs/targets.md 1.3, 4.1.
#include <array>

#include "passes/standardize/coded_operators.h"

namespace octet {

namespace {

struct Layout {
  std::string_view op;
  std::string_view standard;
  size_t plain;      ///< inputs before the codes that are no codes
  size_t tensors;    ///< coded inputs; 0: all that there are
  bool output_first; ///< scale and zero point of the output come first, not last
};

constexpr std::array<Layout, 7> kLayouts = {{
    {"QLinearAdd", "Add", 0, 2, false},
    {"QLinearMul", "Mul", 0, 2, false},
    {"QLinearSigmoid", "Sigmoid", 0, 1, false},
    {"QLinearLeakyRelu", "LeakyRelu", 0, 1, false},
    {"QLinearSoftmax", "Softmax", 0, 1, false},
    {"QLinearWhere", "Where", 1, 2, false},
    {"QLinearConcat", "Concat", 0, 0, true},
}};

const Layout* layout_of(const Node& node) {
  if (node.domain != kMicrosoft) return nullptr;
  for (const Layout& layout : kLayouts)
    if (layout.op == node.op_type) return &layout;
  return nullptr;
}

/// Softmax of operator sets below 13 works on the matrix that its axis cuts: the same for the last.
bool softmax_is_standard(const Graph& graph, const Node& node) {
  const bool theirs = node.attr_int("opset", 13) >= 13, ours = graph.opset() >= 13;
  if (theirs == ours) return true;
  const TypeInfo& x = graph.value(node.input(0)).type;
  const int64_t axis = node.attr_int("axis", -1);
  return axis == -1 || (x.has_rank() && axis == x.rank() - 1);
}

/// Coded inputs, the inputs before the first, and the input that holds the scale of the output.
struct OperandPlaces {
  size_t tensors, first, output;
};
OperandPlaces places(const Layout& layout, const Node& node) {
  const size_t first = layout.output_first ? 2 : layout.plain;
  const size_t tensors = layout.tensors > 0 ? layout.tensors : (node.inputs.size() - first) / 3;
  return {tensors, first, layout.output_first ? 0 : first + 3 * tensors};
}

} // namespace

size_t pointwise_output_scale(const Node& node) {
  const Layout* layout = layout_of(node);
  return layout == nullptr ? node.inputs.size() : places(*layout, node).output;
}

std::optional<Patch> decompose_qlinear_pointwise(const Graph& graph, const Node& node) {
  const Layout* layout = layout_of(node);
  if (layout == nullptr) return std::nullopt;
  if (layout->standard == "Softmax" && !softmax_is_standard(graph, node)) return std::nullopt;
  const auto [tensors, first, output] = places(*layout, node);
  const std::string name = name_of(graph, node);
  Patch patch(graph,
              node.op_type + " becomes " + std::string(layout->standard) + " between DQ and Q",
              Exactness::kRounding);
  patch.from(node);
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < layout->plain; ++i)
    inputs.push_back(node.input(i));
  for (size_t t = 0; t < tensors; ++t) {
    const auto x = qdq::emit_operand(patch, graph, qdq::operand_at(node, first + 3 * t), 1,
                                     name + "_input_" + std::to_string(t));
    if (!x) return std::nullopt;
    inputs.push_back(*x);
  }
  Attributes attributes = node.attributes;
  attributes.erase("opset");
  if (layout->standard == "Softmax") attributes["axis"].value = node.attr_int("axis", -1);
  const ValueId y =
      patch.emit(std::string(layout->standard), std::move(inputs), std::move(attributes), name);
  qdq::replace_by_codes(patch, node, y, node.input(output), node.input(output + 1), name);
  return patch;
}

} // namespace octet

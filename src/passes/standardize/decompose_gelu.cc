// SPDX-License-Identifier: Apache-2.0
//   BiasGelu(x, b), Gelu(x) of com.microsoft      =>    x [+ b] ─▶ Gelu ─▶ y
//   FastGelu(x, b)                                =>    x [+ b] ─▶ Gelu(approximate: tanh) ─▶ y
// Rounding. Below opset 20, which has no Gelu, its chain; Gelu of a later one that is written for
// it becomes that too.
#include <cmath>

#include "passes/standardize/standard_operators.h"

namespace octet {

namespace {

class Chain {
 public:
  Chain(Patch& patch, const Node& node, DType type)
      : patch_(patch), name_(node.name), type_(type) {}

  ValueId number(const char* part, double value) {
    return emit_number(patch_, name_ + "/" + part, type_, value);
  }
  ValueId node(const char* op, std::vector<ValueId> inputs, const char* part) {
    return patch_.emit(op, std::move(inputs), {}, name_ + "/" + part);
  }
  /// x / sqrt 2, or sqrt(2 / pi) (x + 0.044715 x^3).
  ValueId argument(ValueId x, bool tanh) {
    if (!tanh) return node("Div", {x, number("root", std::sqrt(2.0))}, "scaled");
    const ValueId square = node("Mul", {x, x}, "square");
    const ValueId cube = node("Mul", {square, x}, "cube");
    const ValueId term = node("Mul", {cube, number("cubic", 0.044715)}, "term");
    const ValueId sum = node("Add", {x, term}, "with_term");
    return node("Mul", {sum, number("slope", std::sqrt(2 / M_PI))}, "scaled");
  }
  ValueId gelu(ValueId x, bool tanh) {
    const ValueId step = node(tanh ? "Tanh" : "Erf", {argument(x, tanh)}, "step");
    const ValueId sum = node("Add", {step, number("one", 1)}, "sum");
    const ValueId product = node("Mul", {x, sum}, "product");
    return patch_.emit("Mul", {product, number("half", 0.5)}, {}, name_);
  }

 private:
  Patch& patch_;
  const std::string& name_;
  DType type_;
};

} // namespace

std::optional<Patch> decompose_gelu(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  const bool too_new = node.is("Gelu") && g.opset() < 20;
  const bool tanh = node.is("FastGelu", kMicrosoft) ||
                    (too_new && node.attr_string("approximate", "none") == "tanh");
  if (!tanh && !too_new && !node.is("BiasGelu", kMicrosoft) && !node.is("Gelu", kMicrosoft))
    return std::nullopt;
  const DType type = g.value(node.input(0)).type.type;
  if (!is_float(type) || g.opset() < 9) return std::nullopt;
  Patch patch(g, node.op_type + " is a sum and GELU", Exactness::kRounding);
  patch.from(node);
  ValueId x = node.input(0);
  if (node.input(1).valid()) x = patch.emit("Add", {x, node.input(1)}, {}, node.name + "/bias");
  if (g.opset() < 20) {
    patch.replace(node.output(0), Chain(patch, node, type).gelu(x, tanh));
    return patch;
  }
  Attributes attributes;
  if (tanh) attributes["approximate"].value = std::string("tanh");
  patch.replace(node.output(0), patch.emit("Gelu", {x}, std::move(attributes), node.name));
  return patch;
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
//   DQ ─ product ─ RoundHalf ─ [functions, each rounded] ─ Q    =>    DQ ─ product ─ [functions] ─ Q
// What a product of codes makes on the way to codes is not rounded to 16 bits in between, as DQ does
// not round (float16.cc) and TensorRT's kernels do not. Rounding.
#include <algorithm>
#include <array>

#include "graph/domains.h"
#include "ops/definitions.h"
#include "passes/lower/chains.h"
#include "passes/lower/coded_products.h"
#include "passes/lower/lower.h"

namespace octet::lowering {
namespace {

/// Nodes between a product and Q.
constexpr int kLongest = 24;

constexpr std::array<std::string_view, 8> kFunctions = {
    "Add", "BatchNormalization", "Div", "Max", "Min", "Mul", "PRelu", "Sub"};

bool is_rounding(const Node& node) {
  return node.is("RoundHalf", kNative);
}

/// Computes element by element, or picks elements.
bool is_function(const Graph& graph, const Node& node) {
  if (is_rounding(node)) return true;
  const OpDef* op = node.domain.empty() ? find_op(node.domain, node.op_type) : nullptr;
  if (op == nullptr || node.outputs.size() != 1 || is_qdq(node) || node.is("Cast")) return false;
  return std::find(kFunctions.begin(), kFunctions.end(), node.op_type) != kFunctions.end() ||
         keeps_elements(graph, node) ||
         op->quant.fn(node, input_infos(graph, node)).kind == QuantTrait::Kind::kUnary;
}

/// Whether a value is a function of what products of codes make, and of nothing else that is computed
/// but codes.
bool comes_of_codes(const Graph& graph, ValueId id, int left) {
  if (coded_product(graph, id)) return true;
  const Node* node = graph.producer(id);
  if (node == nullptr || left == 0 || is_rounding(*node) || !is_function(graph, *node))
    return false;
  bool any = false;
  for (const ValueId x : node->inputs) {
    if (!x.valid() || graph.constant(x) != nullptr || dequantizer_of(graph, x) != nullptr) continue;
    if (!comes_of_codes(graph, x, left - 1)) return false;
    any = true;
  }
  return any;
}

/// Whether everything that reads a value makes codes of it.
bool becomes_codes(const RuleContext& c, ValueId id, int left) {
  const auto& uses = c.uses.of(id);
  if (left == 0 || uses.empty() || c.graph.is_output(id)) return false;
  return std::all_of(uses.begin(), uses.end(), [&](const Uses::Use& use) {
    const Node& node = c.graph.node(use.node);
    if (is_quantize(node)) return use.input == 0;
    return is_function(c.graph, node) && becomes_codes(c, node.output(0), left - 1);
  });
}

} // namespace

std::optional<Patch> quantize_unrounded(const RuleContext& c, const Node& node) {
  if (!is_rounding(node) || !comes_of_codes(c.graph, node.input(0), kLongest) ||
      !becomes_codes(c, node.output(0), kLongest) ||
      !can_replace(c.graph, node.output(0), node.input(0)))
    return std::nullopt;
  Patch patch(c.graph, "codes are made of what is not rounded", Exactness::kRounding);
  patch.from(node);
  patch.replace(node.output(0), node.input(0));
  return patch;
}

} // namespace octet::lowering

// SPDX-License-Identifier: Apache-2.0
//   QGemm (f32) ─▶ Gelu | Map of one input [─▶ Quantize]    =>    QGemm with a program
//   QScaledGemm ─▶ Gelu | Map of one input                  =>    QScaledGemm with a program
// Exact: the product's eval is that of the parts after one another.
#include <algorithm>

#include "graph/domains.h"
#include "passes/lower/fused.h"
#include "passes/lower/programs.h"
#include "passes/match.h"

namespace octet::lowering {
namespace {

bool makes_floats(const Node* node) {
  if (node == nullptr || node->has_attr("program")) return false;
  return node->is("QScaledGemm", kNative) ||
         (node->is("QGemm", kNative) && node->attr_int("to", static_cast<int64_t>(DType::kInt8)) ==
                                            static_cast<int64_t>(DType::kFloat32));
}

bool reads_alone(const RuleContext& c, const Node& node, ValueId value) {
  const auto readers = c.uses.of(value);
  return !c.graph.is_output(value) &&
         std::all_of(readers.begin(), readers.end(),
                     [&](const Uses::Use& use) { return use.node == node.id; });
}

} // namespace

std::optional<Patch> fuse_function(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  if (node.inputs.empty() || node.outputs.size() != 1) return std::nullopt;
  const ValueId sums = node.input(0), result = node.output(0);
  const Node* product = g.producer(sums);
  if (!makes_floats(product) || !reads_alone(c, node, sums)) return std::nullopt;
  const auto function = mapped(g, node, Bits::kSame);
  if (!function || function->inputs.size() != 1 || function->inputs[0].id != sums)
    return std::nullopt;
  Patch patch(g, "the function follows the sums of a tile", Exactness::kExact);
  patch.from(*product);
  patch.from(node);
  Attributes attributes = product->attributes;
  attributes["program"].value = numerics::program_text(function->program);
  if (!function->program.constants.empty())
    attributes["constants"].value = function->program.constants;
  std::vector<const Node*> quantizers;
  if (product->is("QGemm", kNative)) quantizers = alike_quantizers(c, result);
  if (!quantizers.empty()) {
    attributes["to"].value = quantizers[0]->attr_int("to", static_cast<int64_t>(DType::kInt8));
    attributes["y_zero_point"].value = quantizers[0]->attr_int("zero_point", 0);
    attributes["y_scale"].value = quantizers[0]->attr_float("scale", 1.0F);
  }
  const ValueId y =
      patch.emit(product->op_type, product->inputs, std::move(attributes), product->name, kNative);
  if (quantizers.empty()) patch.replace(result, y);
  for (const Node* quantizer : quantizers) {
    patch.from(*quantizer);
    patch.replace(quantizer->output(0), y);
  }
  return patch;
}

} // namespace octet::lowering

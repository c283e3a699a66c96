// SPDX-License-Identifier: Apache-2.0
//   x ─ Q of 16 bits ─ DQ    =>    x ─ FakeQuantize
// Exact, but for what reads the codes themselves: those stay. No product multiplies such codes, so
// that what counts is the number behind them: one function of the elements, which fuses with others.
#include "graph/domains.h"
#include "ops/qdq/site.h"
#include "passes/lower/chains.h"
#include "passes/lower/context.h"

namespace octet::lowering {

std::optional<Patch> fake_quantize(const RuleContext& c, const Node& node) {
  if (!is_dequantize(node)) return std::nullopt;
  const Node* quantize = c.graph.producer(node.input(0));
  if (quantize == nullptr || !is_quantize(*quantize) ||
      c.graph.value(quantize->input(0)).type.type != DType::kFloat32)
    return std::nullopt;
  const auto grid = qdq::grid_of(c.graph, node, kOneScale);
  const auto made = qdq::grid_of(c.graph, *quantize, kOneScale);
  if (!grid || !made || !qdq::same(*grid, *made, qdq::Same::kNumbers)) return std::nullopt;
  const auto range = grid->code_range();
  if (!range || bits(grid->codes) != 16) return std::nullopt;
  Patch patch(c.graph, "numbers of 16-bit codes without the codes", Exactness::kExact);
  patch.from(node);
  patch.from(*quantize);
  patch.import_opset(kNative, 1);
  Attributes attributes;
  attributes["scale"].value = grid->one_scale();
  attributes["lo"].value = int64_t{range->lo} - grid->one_zero();
  attributes["hi"].value = int64_t{range->hi} - grid->one_zero();
  patch.replace(node.output(0), patch.emit("FakeQuantize", {quantize->input(0)},
                                           std::move(attributes), node.name, kNative));
  return patch;
}

} // namespace octet::lowering

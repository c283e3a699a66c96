// SPDX-License-Identifier: Apache-2.0
//   d = x - ReduceMean(x),  y = d / Sqrt(ReduceMean(d^2) + epsilon) * gain + bias
//                                                      =>    x ─▶ LayerNormalization ─▶ y
// in octet.native, over the last axes; see passes/match_layer_norm.cc. Rounding: equal in real arithmetic.
#include "graph/domains.h"
#include "passes/lower/chains.h"
#include "passes/lower/rows_of_axes.h"
#include "passes/match_layer_norm.h"

namespace octet::lowering {

std::optional<Patch> fuse_layer_norm(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  const auto chain = match_layer_norm(c, node);
  if (!chain || !chain->bias.valid() || g.value(chain->x).type.type != DType::kFloat32)
    return std::nullopt;
  const auto rows = RowsOfAxes::of(g.value(chain->x).type, chain->axes, node.name);
  if (chain->axes > 1 && !rows) return std::nullopt;
  Patch patch(g, "the chain is layer normalization", Exactness::kRounding);
  patch.from(node);
  patch.import_opset(kNative, 1);
  Attributes attributes;
  attributes["epsilon"].value = chain->epsilon;
  std::vector<ValueId> inputs = {chain->x, chain->gain, chain->bias};
  if (rows)
    inputs = {rows->rows(patch, chain->x), rows->vector(patch, chain->gain),
              rows->vector(patch, chain->bias)};
  const ValueId y = patch.emit("LayerNormalization", std::move(inputs), attributes,
                               node.name + "/layer_norm", kNative);
  patch.replace(chain->y, rows ? rows->axes(patch, y) : y);
  return patch;
}

} // namespace octet::lowering

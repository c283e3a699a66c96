// SPDX-License-Identifier: Apache-2.0
//   a, b ─▶ Add ─▶ LayerNormalization ─▶ y ┬▶ Quantize ─▶ codes
//                                          └▶ ...
//                                  =>    a, b ─▶ LayerNormalization ─▶ [y], [a + b], codes ...
// Exact: the operator's eval is that of the parts after one another. The numbers and the sum are
// outputs where others read them.
#include <algorithm>

#include "graph/domains.h"
#include "ops/native/layer_normalization.h"
#include "passes/lower/fused.h"
#include "passes/match.h"

namespace octet::lowering {
namespace {

/// Quantizers of one grid.
struct Coded {
  native::LayerNormOutputs::Codes grid;
  std::vector<const Node*> nodes;
};

constexpr auto kDefaultCodes = static_cast<int64_t>(DType::kInt8);

/// The quantizers that read the value, by their grids, as many as one node makes.
std::vector<Coded> quantizers(const RuleContext& c, ValueId value) {
  std::vector<Coded> out;
  for (const Uses::Use& use : c.uses.of(value)) {
    const Node& node = c.graph.node(use.node);
    if (!node.is("Quantize", kNative)) continue;
    const native::LayerNormOutputs::Codes grid = {
        node.attr_float("scale", 1.0F), static_cast<int32_t>(node.attr_int("zero_point", 0)),
        static_cast<DType>(node.attr_int("to", kDefaultCodes))};
    const auto same = std::find_if(out.begin(), out.end(), [&](const Coded& other) {
      // One value has one name.
      return other.grid == grid && !c.graph.is_output(node.output(0)) &&
             !c.graph.is_output(other.nodes[0]->output(0));
    });
    if (same != out.end())
      same->nodes.push_back(&node);
    else if (out.size() < native::LayerNormOutputs::kMaxCodes)
      out.push_back({grid, {&node}});
  }
  return out;
}

/// The Add of two tensors of one shape that makes x.
const Node* sum_before(const RuleContext& c, ValueId x) {
  const Node* add = made_by(c.graph, x, "Add");
  const TypeInfo& type = c.graph.value(x).type;
  const bool fits = add != nullptr && type.has_rank() &&
                    same_type(c.graph.value(add->input(0)).type, type) &&
                    same_type(c.graph.value(add->input(1)).type, type);
  return fits ? add : nullptr;
}

bool is_read_by_others(const RuleContext& c, const Node& reader, ValueId value) {
  const auto users = c.uses.of(value);
  return c.graph.is_output(value) ||
         std::any_of(users.begin(), users.end(),
                     [&](const Uses::Use& use) { return use.node != reader.id; });
}

void write_codes(Attributes& attributes, const std::vector<Coded>& codes) {
  std::vector<float> scales;
  std::vector<int64_t> zeros, types;
  scales.reserve(codes.size());
  zeros.reserve(codes.size());
  types.reserve(codes.size());
  for (const Coded& each : codes) {
    scales.push_back(each.grid.scale);
    zeros.push_back(each.grid.zero);
    types.push_back(static_cast<int64_t>(each.grid.to));
  }
  attributes["scales"].value = std::move(scales);
  attributes["zero_points"].value = std::move(zeros);
  attributes["to"].value = std::move(types);
}

} // namespace

std::optional<Patch> fuse_norm(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  if (!node.is("LayerNormalization", kNative) || node.outputs.size() != 1 ||
      node.has_attr("scales") || node.input(3).valid())
    return std::nullopt;
  const ValueId y = node.output(0);
  const std::vector<Coded> codes = quantizers(c, y);
  const Node* add = sum_before(c, node.input(0));
  const bool keeps_sum = add != nullptr && is_read_by_others(c, node, node.input(0));
  // What reads the sum may be what the gain is computed from.
  const auto is_known = [&](ValueId id) { return !id.valid() || g.constant(id) != nullptr; };
  if (keeps_sum && (!is_known(node.input(1)) || !is_known(node.input(2)))) add = nullptr;
  if (add == nullptr && codes.empty()) return std::nullopt;

  Patch patch(g, "a row is added, normalized and quantized at once", Exactness::kExact);
  patch.from(node);
  std::vector<ValueId> inputs = node.inputs;
  Attributes attributes = node.attributes;
  if (add != nullptr) {
    patch.from(*add);
    inputs.resize(4);
    inputs[0] = add->input(0);
    inputs[3] = add->input(1);
  }
  size_t quantized = 0;
  for (const Coded& each : codes)
    quantized += each.nodes.size();
  const bool floats = g.is_output(y) || c.uses.of(y).size() > quantized;
  const bool sum = add != nullptr && keeps_sum;
  if (!floats) attributes["floats"].value = int64_t{0};
  if (sum) attributes["sum"].value = int64_t{1};
  if (!codes.empty()) write_codes(attributes, codes);
  const int count = int{floats} + int{sum} + static_cast<int>(codes.size());
  const ValueId first = patch.emit("LayerNormalization", std::move(inputs), std::move(attributes),
                                   node.name, kNative, count);
  int next = 0;
  if (floats) patch.replace(y, patch.output(first, next++));
  if (sum) patch.replace(node.input(0), patch.output(first, next++));
  for (const Coded& each : codes) {
    const ValueId made = patch.output(first, next++);
    for (const Node* quantizer : each.nodes) {
      patch.from(*quantizer);
      patch.replace(quantizer->output(0), made);
    }
  }
  return patch;
}

} // namespace octet::lowering

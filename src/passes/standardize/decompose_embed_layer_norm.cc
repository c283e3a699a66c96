// SPDX-License-Identifier: Apache-2.0
//   EmbedLayerNormalization(ids, segments, word, position, segment, gain, bias, mask, positions)
//        =>    Gather(word) + Gather(position) [+ Gather(segment)] ─▶ LayerNormalization ─▶ y
//              mask == 1 ─▶ ReduceSum ─▶ mask_index
// Rounding. Without positions they are the first rows of their table.
#include "passes/standardize/standard_operators.h"

namespace octet {

namespace {

/// Rows 0 to S of the table, S the columns of the ids.
ValueId first_rows(Patch& patch, const Graph& g, const Node& node) {
  const std::string name = node.name + "/positions";
  const TypeInfo& ids = g.value(node.input(0)).type;
  const ValueId zero = emit_ints(patch, name + "/begin", {0});
  const auto steps = (*ids.shape)[1].maybe_value();
  ValueId end;
  if (steps) {
    end = emit_ints(patch, name + "/end", {*steps});
  } else {
    const ValueId shape = patch.emit("Shape", {node.input(0)}, {}, name + "/shape");
    end = patch.emit("Gather", {shape, emit_ints(patch, name + "/one", {1})}, {}, name + "/end");
  }
  return patch.emit("Slice", {node.input(3), zero, end, zero}, {}, name);
}

/// How many elements of each row of the mask are 1, as int32.
ValueId row_sums(Patch& patch, const Graph& g, const Node& node) {
  const std::string name = node.name + "/mask";
  const DType type = g.value(node.input(7)).type.type;
  const ValueId one =
      patch.constant(name + "/one", Tensor::from_doubles(type, {}, std::vector<double>{1}).value());
  const ValueId counts = patch.emit("Equal", {node.input(7), one}, {}, name + "/counts");
  Attributes to, keep;
  to["to"].value = static_cast<int64_t>(DType::kInt32);
  const ValueId ones = patch.emit("Cast", {counts}, std::move(to), name + "/ones");
  keep["keepdims"].value = int64_t{0};
  std::vector<ValueId> inputs = {ones};
  if (g.opset() < 13)
    keep["axes"].value = std::vector<int64_t>{1};
  else
    inputs.push_back(emit_ints(patch, name + "/axes", {1}));
  return patch.emit("ReduceSum", std::move(inputs), std::move(keep), name + "/index");
}

} // namespace

std::optional<Patch> decompose_embed_layer_norm(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("EmbedLayerNormalization", kMicrosoft) || g.opset() < 10) return std::nullopt;
  if (!g.value(node.input(0)).type.has_rank() ||
      g.value(node.input(5)).type.type == DType::kUndefined)
    return std::nullopt;
  const bool masks = context.uses.count(node.output(1)) > 0;
  if (masks && (!node.input(7).valid() || g.value(node.input(7)).type.type == DType::kUndefined))
    return std::nullopt;
  Patch patch(g, "EmbedLayerNormalization is sums of rows and layer normalization",
              Exactness::kRounding);
  patch.from(node);
  const std::string& name = node.name;
  const ValueId words = patch.emit("Gather", {node.input(2), node.input(0)}, {}, name + "/words");
  const ValueId positions =
      node.input(8).valid()
          ? patch.emit("Gather", {node.input(3), node.input(8)}, {}, name + "/positions")
          : first_rows(patch, g, node);
  ValueId sum = patch.emit("Add", {words, positions}, {}, name + "/sum");
  if (node.input(1).valid() && node.input(4).valid()) {
    const ValueId kinds =
        patch.emit("Gather", {node.input(4), node.input(1)}, {}, name + "/segments");
    sum = patch.emit("Add", {sum, kinds}, {}, name + "/sum_with_segments");
  }
  patch.replace(node.output(0),
                emit_layer_norm(patch, g, node, sum, node.input(5), node.input(6), 3));
  if (masks) patch.replace(node.output(1), row_sums(patch, g, node));
  if (node.output(2).valid()) patch.replace(node.output(2), sum);
  return patch;
}

} // namespace octet

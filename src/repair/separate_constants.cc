// SPDX-License-Identifier: Apache-2.0
//   w, z ─▶ DQ ─┬▶ f      =>   w,  z  ─▶ DQ ─▶ f
//               └▶ g           w', z' ─▶ DQ ─▶ g         w', z': copies
// The same for two DQ that read one w, or one z. ONNX Runtime's exact mode loads int8 weights only
// where one operator reads them. Exact; the file grows. Source: docs/targets.md 8.
#include <span>

#include "repair/rules.h"
#include "targets/checks.h"
#include "targets/onnxruntime/exact_mode.h"
#include "targets/onnxruntime/releases.h"

namespace octet {

namespace {

/// Whether a DQ before this one, which becomes uint8 too, reads the same constant.
bool is_read_before(const RepairContext& context, const Node& node, size_t input) {
  if (context.graph.constant(node.input(input)) == nullptr) return false;
  for (const Uses::Use& use : context.uses.of(node.input(input))) {
    const Node& reader = context.graph.node(use.node);
    if (use.input == input && reader.id < node.id && becomes_uint8(context.graph, reader))
      return true;
  }
  return false;
}

} // namespace

std::optional<Repair> separate_constants(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const std::span<const Uses::Use> readers = context.uses.of(node.output(0));
  const auto is_shared = [&](size_t input) {
    return node.input(input).valid() && context.uses.of(node.input(input)).size() > 1;
  };
  // The weights are read only where something is shared.
  if (is_cuda(context.target) || !is_dequantize(node) ||
      (readers.size() < 2 && !is_shared(0) && !is_shared(2)) || !becomes_uint8(graph, node))
    return std::nullopt;
  const qdq::Written said = qdq::written(graph, node);
  bool any = false;
  Patch patch(graph, "each reader gets codes and a zero point of its own", Exactness::kExact);
  patch.from(node);
  const auto copy = [&](size_t input, const std::string& owner) {
    const Tensor* constant = graph.constant(node.input(input));
    if (constant == nullptr) return node.input(input); // a computed zero point
    any = true;
    return patch.constant(owner + (input == 0 ? "_codes" : "_zero_point"), *constant);
  };
  const std::string name = name_of(graph, node);
  for (const size_t input : {size_t{0}, size_t{2}})
    if (is_shared(input) && is_read_before(context, node, input))
      patch.set_input(node.id, input, copy(input, name));
  for (size_t i = 1; i < readers.size(); ++i) {
    const Node& reader = graph.node(readers[i].node);
    if (readers[i].input >= reader.inputs.size()) return std::nullopt; // read by a subgraph
    const std::string own = name + "_for_" + name_of(graph, reader);
    std::vector<ValueId> inputs = {copy(0, own), said.scale};
    if (said.zero.valid()) inputs.push_back(copy(2, own));
    patch.set_input(reader.id, readers[i].input,
                    patch.emit(node.op_type, std::move(inputs), node.attributes, own, node.domain));
  }
  if (!any) return std::nullopt;
  return Repair::exact(std::move(patch));
}

} // namespace octet

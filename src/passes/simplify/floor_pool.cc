// SPDX-License-Identifier: Apache-2.0
//   MaxPool, AveragePool, LpPool {ceil_mode=1}  =>  the same without, where no window is added
// Exact. A window that would begin behind the image is dropped (ONNX MaxPool, opset 19), which
// ONNX Runtime's shape inference leaves out: it then says one element more than its kernel makes.
#include <span>

#include "ops/shared/window.h"
#include "passes/simplify/rules.h"

namespace octet {

std::optional<Patch> floor_pool(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("MaxPool") && !node.is("AveragePool") && !node.is("LpPool")) return std::nullopt;
  const auto& shape = g.value(node.input(0)).type.shape;
  if (node.attr_int("ceil_mode", 0) == 0 || !shape || shape->size() < 3) return std::nullopt;
  auto window = parse_window(node, node.attr_ints("kernel_shape"));
  if (!window.ok() || window->spatial_rank() != shape->size() - 2) return std::nullopt;
  const std::span<const Dim> image = std::span(*shape).subspan(2);
  window->rounding = SizeRounding::kCeil;
  const auto up = window_sizes(*window, image);
  window->rounding = SizeRounding::kFloor;
  const auto down = window_sizes(*window, image);
  if (!up.ok() || !down.ok() || *up != *down) return std::nullopt;
  Patch patch(g, node.op_type + " rounds no size up", Exactness::kExact);
  patch.from(node);
  Attributes attributes = node.attributes;
  attributes.erase("ceil_mode");
  const int outputs = static_cast<int>(node.outputs.size());
  const ValueId y =
      patch.emit(node.op_type, node.inputs, std::move(attributes), node.name, {}, outputs);
  for (int k = 0; k < outputs; ++k)
    if (node.output(k).valid()) patch.replace(node.output(k), patch.output(y, k));
  return patch;
}

} // namespace octet

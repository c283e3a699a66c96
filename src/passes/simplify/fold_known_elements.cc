// SPDX-License-Identifier: Apache-2.0
//   x: f32[N, 3, 8, 8] ─▶ Shape ─▶ Gather(2) ─▶ Mul(4) ─▶ y      =>      constant y = 32
// Exact. Inference follows small integer tensors through shape computations; where it knows every
// element, the tensor is a constant, whatever else of the shape is open.
#include "passes/match.h"
#include "passes/simplify/rules.h"

namespace octet {

std::optional<Patch> fold_known_elements(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (node.outputs.size() != 1 || !node.captures.empty() || node.is("Constant"))
    return std::nullopt;
  const ValueId y = node.outputs[0];
  if (!y.valid() || g.is_output(y) || !context.elements.contains(y)) return std::nullopt;
  const auto elements = known_ints(context, y);
  const TypeInfo& type = g.value(y).type;
  const auto shape = type.static_shape();
  if (!elements || !shape || shape->size() > 1) return std::nullopt;
  if (static_cast<int64_t>(elements->size()) != (shape->empty() ? 1 : shape->front()))
    return std::nullopt;
  if (!is_integer(type.type) && type.type != DType::kBool) return std::nullopt;
  const std::vector<double> numbers(elements->begin(), elements->end());
  Result<Tensor> tensor = type.type == DType::kInt64
                              ? Result<Tensor>(Tensor::of<int64_t>(*shape, std::span(*elements)))
                              : Tensor::from_doubles(type.type, *shape, numbers);
  if (!tensor.ok()) return std::nullopt;
  Patch patch(g, "every element is known from the shapes", Exactness::kExact);
  patch.from(node);
  patch.replace(y, patch.constant(g.value(y).name, std::move(*tensor)));
  return patch;
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// What If, Loop and Scan share; see bodies.h.
#include "ops/shared/bodies.h"

#include "core/format.h"
#include "ops/shared/movement.h"

namespace octet {

Result<GraphPtr> body_of(const Node& node, const char* attribute) {
  const Attribute* a = node.attr(attribute);
  const auto* body = a == nullptr ? nullptr : std::get_if<GraphPtr>(&a->value);
  if (body == nullptr || *body == nullptr)
    return error("the subgraph {} is missing; store one", attribute);
  return *body;
}

Result<std::vector<TypeInfo>>
infer_body(const InferContext& ctx, const Graph& body, std::span<const TypeInfo> inputs) {
  if (body.inputs().size() != inputs.size())
    return error("the body of {} has {} inputs but gets {} values; make them equal",
                 ctx.node.op_type, body.inputs().size(), inputs.size());
  if (!ctx.infer_body) return std::vector<TypeInfo>(body.outputs().size());
  return ctx.infer_body(body, inputs);
}

Result<std::vector<Tensor>>
run_body(const EvalContext& ctx, const Graph& body, std::span<const Tensor> inputs) {
  if (!ctx.run_body)
    return error(ErrorCode::kUnsupported, "the body of {} cannot be run here", ctx.node.op_type);
  auto outputs = OCTET_TRY(ctx.run_body(body, inputs));
  if (outputs.size() != body.outputs().size())
    return error("the body of {} gave {} values for {} outputs", ctx.node.op_type, outputs.size(),
                 body.outputs().size());
  return outputs;
}

TypeInfo either(const TypeInfo& a, const TypeInfo& b) {
  TypeInfo out;
  if (a.type == b.type) out.type = a.type;
  if (a.opaque == b.opaque) out.opaque = a.opaque;
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) return out;
  out.shape = a.shape;
  for (size_t i = 0; i < a.shape->size(); ++i)
    if (!((*a.shape)[i] == (*b.shape)[i])) (*out.shape)[i] = Dim::unknown();
  return out;
}

TypeInfo stacked(const TypeInfo& element, const Dim& count, int64_t axis) {
  TypeInfo out = element;
  if (out.has_rank() && axis <= out.rank()) out.shape->insert(out.shape->begin() + axis, count);
  return out;
}

Result<Tensor> stack(std::span<const Tensor> elements, const TypeInfo& type, int64_t axis) {
  if (elements.empty()) {
    Shape shape = {0};
    if (type.has_rank())
      for (const Dim& d : *type.shape)
        shape.push_back(d.maybe_value().value_or(0));
    if (type.type == DType::kUndefined)
      return error("nothing was collected and its type is unknown; declare the body's outputs");
    return Tensor::zeros(type.type, std::move(shape));
  }
  Shape shape = elements[0].shape();
  for (const Tensor& t : elements)
    if (t.shape() != shape)
      return error("collected values have shapes {} and {}; they must agree", to_string(shape),
                   to_string(t.shape()));
  const auto count = static_cast<int64_t>(elements.size());
  if (axis > static_cast<int64_t>(shape.size()))
    return error("axis {} out of range for values of shape {}", axis, to_string(shape));
  Shape strides = strides_of(shape);
  strides.insert(strides.begin() + axis, elements[0].count());
  shape.insert(shape.begin() + axis, count);
  return take(elements, shape, strided_index(shape, strides));
}

Result<Tensor> element(const Tensor& x, int64_t axis, int64_t i) {
  Shape shape = x.shape();
  Shape strides = strides_of(shape);
  const int64_t offset = i * strides[static_cast<size_t>(axis)];
  shape.erase(shape.begin() + axis);
  strides.erase(strides.begin() + axis);
  return take(x, shape, strided_index(shape, strides, offset));
}

} // namespace octet

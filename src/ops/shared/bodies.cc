// SPDX-License-Identifier: Apache-2.0
// What If, Loop and Scan share; see bodies.h.
#include "ops/shared/bodies.h"

#include "core/format.h"

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

} // namespace octet

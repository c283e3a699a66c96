// SPDX-License-Identifier: Apache-2.0
// Transpose (opset 1). Dimension i of y is dimension perm[i] of x; reversed without perm.
#include "core/format.h"
#include "ops/shared/movement.h"
#include "ops/shared/types.h"

namespace octet::onnx::op_Transpose {
namespace {

struct TransposeAttrs {
  std::vector<int64_t> perm; ///< one axis of x for each axis of y
};

Result<TransposeAttrs> parse(const Node& node, int64_t rank) {
  TransposeAttrs a;
  if (!node.has_attr("perm")) {
    for (int64_t i = rank; i-- > 0;)
      a.perm.push_back(i);
    return a;
  }
  const std::vector<int64_t> perm = node.attr_ints("perm");
  if (static_cast<int64_t>(perm.size()) != rank)
    return error("perm has {} axes but x has rank {}; name every axis once", perm.size(), rank);
  a.perm = OCTET_TRY(normalize_axes(perm, rank));
  return a;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_present(ctx, 0));
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank()) {
    if (!ctx.node.has_attr("perm")) return one(x.type, std::nullopt);
    return one(x.type, unknown_dims(static_cast<int64_t>(ctx.node.attr_ints("perm").size())));
  }
  std::vector<Dim> out;
  for (int64_t axis : OCTET_TRY(parse(ctx.node, x.rank())).perm)
    out.push_back((*x.shape)[static_cast<size_t>(axis)]);
  auto outputs = one(x.type, out);
  set_value(outputs[0], known_dims(ctx.input(0)));
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const Shape own = strides_of(x.shape());
  Shape strides;
  for (int64_t axis : OCTET_TRY(parse(ctx.node, x.rank())).perm)
    strides.push_back(own[static_cast<size_t>(axis)]);
  return one(OCTET_TRY(take(x, shape, strided_index(shape, strides))));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = moves_data,
    .motion = moves_first<Motion::Kind::kPermute>,
    .range = of_sources,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Transpose

// SPDX-License-Identifier: Apache-2.0
// EyeLike (opset 9). A matrix of x's shape with ones on the k-th diagonal, of type dtype (x's
// without it).
#include "core/format.h"
#include "ops/shared/elementwise.h"

namespace octet::onnx::op_EyeLike {
namespace {

struct EyeLikeAttrs {
  DType type = DType::kUndefined;
  int64_t k = 0;
};

Result<EyeLikeAttrs> parse(const Node& node, DType of_x) {
  EyeLikeAttrs a{.type = of_x, .k = node.attr_int("k", 0)};
  const int64_t code = node.attr_int("dtype", static_cast<int64_t>(of_x));
  if (code < 0 || code > INT32_MAX || (code != 0 && !is_valid(static_cast<int32_t>(code))))
    return error("dtype is {}; it must be an element type of TensorProto", code);
  a.type = static_cast<DType>(code);
  return a;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_present(ctx, 0));
  const TypeInfo& x = ctx.input(0).type;
  if (x.has_rank() && x.rank() != 2) return error("x is {}; it must be a matrix", x.text());
  return one(OCTET_TRY(parse(ctx.node, x.type)).type, x.shape);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const EyeLikeAttrs a = OCTET_TRY(parse(ctx.node, x.type()));
  std::vector<double> out(static_cast<size_t>(x.count()), 0);
  for (int64_t i = 0; i < x.count(); ++i)
    out[static_cast<size_t>(i)] = i % x.dim(1) - i / x.dim(1) == a.k;
  return one(OCTET_TRY(Tensor::from_doubles(a.type, x.shape(), out)));
}

} // namespace

extern const OpFacets facets = {
    .since = 9,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_EyeLike

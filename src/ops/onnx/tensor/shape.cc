// SPDX-License-Identifier: Apache-2.0
// Shape (opset 1). y = the dimensions of x from start to end (opset 15; both clamped to the rank),
// as int64. Known to shape computations as far as x's type is.
#include <algorithm>

#include "ops/shared/types.h"

namespace octet::onnx::op_Shape {
namespace {

struct ShapeAttrs {
  int64_t start = 0;
  std::optional<int64_t> end;
};

ShapeAttrs parse(const Node& node) {
  ShapeAttrs a{.start = node.attr_int("start", 0), .end = {}};
  if (node.has_attr("end")) a.end = node.attr_int("end", 0);
  return a;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_present(ctx, 0));
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank()) return one(DType::kInt64, unknown_dims(1));
  const ShapeAttrs a = parse(ctx.node);
  const int64_t rank = x.rank();
  const auto clamped = [rank](int64_t at) {
    return std::clamp(at < 0 ? at + rank : at, int64_t{0}, rank);
  };
  const int64_t from = clamped(a.start);
  const int64_t to = std::max(from, clamped(a.end.value_or(rank)));
  auto outputs = one(DType::kInt64, std::vector<Dim>{to - from});
  set_value(outputs[0], std::vector<Dim>(x.shape->begin() + from, x.shape->begin() + to));
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  Shape dims;
  for (const Dim& d : *outputs[0].value)
    dims.push_back(d.value());
  return one(Tensor::of<int64_t>({static_cast<int64_t>(dims.size())}, dims));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Shape

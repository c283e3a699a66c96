// SPDX-License-Identifier: Apache-2.0
// GatherND (opset 11). The last dimension of indices holds coordinates into x after batch_dims
// (opset 12) shared dimensions; y = one slice of x for each.
#include <algorithm>

#include "core/format.h"
#include "ops/shared/indices.h"
#include "ops/shared/movement.h"

namespace octet::onnx::op_GatherND {
namespace {

struct GatherNDAttrs {
  int64_t batch = 0;
};

GatherNDAttrs parse(const Node& node) {
  return {.batch = node.attr_int("batch_dims", 0)};
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_present(ctx, 0));
  OCTET_TRY(check_input(ctx, 1, kInt64Type));
  const TypeInfo& x = ctx.input(0).type;
  const TypeInfo& indices = ctx.input(1).type;
  if (!x.has_rank() || !indices.has_rank()) return one(x.type, std::nullopt);
  const int64_t batch = parse(ctx.node).batch;
  if (batch < 0 || batch >= std::min(x.rank(), indices.rank()))
    return error("batch_dims {} does not fit x {} and indices {}; it is below both ranks", batch,
                 x.text(), indices.text());
  for (size_t i = 0; i < static_cast<size_t>(batch); ++i) {
    const auto a = (*x.shape)[i].maybe_value();
    const auto b = (*indices.shape)[i].maybe_value();
    if (a && b && *a != *b)
      return error("x {} and indices {} differ in batch dimension {}; make them equal", x.text(),
                   indices.text(), i);
  }
  const auto width = indices.shape->back().maybe_value();
  if (!width) return one(x.type, std::nullopt);
  if (*width < 1 || batch + *width > x.rank())
    return error("indices {} hold {} coordinates for x {} after {} batch dimensions; use 1 to {}",
                 indices.text(), *width, x.text(), batch, x.rank() - batch);
  std::vector<Dim> out(indices.shape->begin(), indices.shape->end() - 1);
  out.insert(out.end(), x.shape->begin() + batch + *width, x.shape->end());
  return one(x.type, out);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const Tensor& indices = ctx.inputs[1];
  const int64_t batch = parse(ctx.node).batch;
  const int64_t run =
      strides_of(x.shape())[static_cast<size_t>(batch + indices.shape().back()) - 1];
  std::vector<int64_t> index;
  for (int64_t start : OCTET_TRY(slice_starts(indices, x.shape(), batch)))
    for (int64_t i = 0; i < run; ++i)
      index.push_back(start + i);
  return one(OCTET_TRY(take(x, shape, index)));
}

} // namespace

extern const OpFacets facets = {
    .since = 11,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = moves_data,
    .motion = moves_first<Motion::Kind::kSelect>,
    .range = of_sources,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_GatherND

// SPDX-License-Identifier: Apache-2.0
// ArrayFeatureExtractor (ai.onnx.ml 1). The elements of the last axis of x that the indices y name,
// in their order; of a vector as one row: [1, count].
#include "core/format.h"
#include "ops/ml/scores.h"
#include "ops/shared/movement.h"

namespace octet::ml::op_ArrayFeatureExtractor {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_input(ctx, 0, kFeatureTypes | TypeSet{DType::kString}));
  OCTET_TRY(check_input(ctx, 1, kInt64Type));
  TypeInfo y = ctx.input(0).type;
  if (!y.has_rank()) return one(y);
  if (y.rank() < 1) return Error("x is a scalar; it must have an axis to select from");
  const auto indices = ctx.input(1).type.static_shape();
  const Dim count = indices ? Dim(product(*indices)) : Dim::unknown();
  if (y.rank() == 1) y.shape->insert(y.shape->begin(), Dim(1));
  y.shape->back() = count;
  return one(y);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const auto wanted = OCTET_TRY(ctx.inputs[1].to_ints());
  if (wanted.empty()) return Error("no index is given; give at least one");
  const int64_t columns = x.shape().back();
  for (const int64_t index : wanted)
    if (index < 0 || index >= columns)
      return error("index {} is outside of {} elements", index, columns);
  std::vector<int64_t> from;
  for (int64_t row = 0; row < x.count() / columns; ++row)
    for (const int64_t index : wanted)
      from.push_back(row * columns + index);
  return one(OCTET_TRY(take(x, shape, from)));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = not_quantizable,
    .motion = moves_first<Motion::Kind::kSelect>,
    .range = of_sources,
    .facts = kNoFacts,
};

} // namespace octet::ml::op_ArrayFeatureExtractor

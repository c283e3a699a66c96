// SPDX-License-Identifier: Apache-2.0
// Scaler (ai.onnx.ml 1). y = (x - offset) * scale in f32, with offset and scale one number each, or
// one for each element of the last axis.
#include "core/format.h"
#include "ops/ml/scores.h"

namespace octet::ml::op_Scaler {
namespace {

struct Attrs {
  std::vector<float> offset, scale;
};

Result<Attrs> parse(const Node& node) {
  Attrs a{node.attr_floats("offset"), node.attr_floats("scale")};
  if (a.offset.empty()) a.offset = {0};
  if (a.scale.empty()) a.scale = {1};
  return a;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_input(ctx, 0, kFeatureTypes));
  const Attrs a = OCTET_TRY(parse(ctx.node));
  TypeInfo y = ctx.input(0).type;
  y.type = DType::kFloat32;
  for (const size_t count : {a.offset.size(), a.scale.size()}) {
    if (count == 1 || !y.has_rank()) continue;
    if (y.rank() == 0) return error("{} numbers for a scalar; give one", count);
    OCTET_TRY(merge_dims(y.shape->back(), Dim(static_cast<int64_t>(count)),
                         "features and elements of offset or scale"));
  }
  return one(y);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Attrs a = OCTET_TRY(parse(ctx.node));
  auto x = OCTET_TRY(ctx.inputs[0].to_doubles());
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = (x[i] - static_cast<double>(a.offset[i % a.offset.size()])) *
           static_cast<double>(a.scale[i % a.scale.size()]);
  return one(OCTET_TRY(rounded(DType::kFloat32, shape, x)));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::ml::op_Scaler

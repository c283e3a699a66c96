// SPDX-License-Identifier: Apache-2.0
// RotaryEmbedding (com.microsoft 1): as RotaryEmbedding of ai.onnx has it, but for the order of the
// inputs x, position_ids, cos, sin; position_ids: [B, S], or one number, the place of the first
// token of each row; a missing num_heads follows from the size that the caches rotate.
#include "core/format.h"
#include "ops/definitions.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/validate.h"

namespace octet::ms::op_RotaryEmbedding {
namespace {

constexpr int64_t kVersion = 23;

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 4, 4));
  for (const size_t i : {0, 2, 3})
    OCTET_TRY(check_input(ctx, i, kFloatTypes));
  OCTET_TRY(check_input(ctx, 1, kInt64Type));
  OCTET_TRY(check_rank(ctx, 0, 3, 4));
  OCTET_TRY(check_rank(ctx, 1, 1, 2));
  OCTET_TRY(check_rank(ctx, 2, 2, 2));
  OCTET_TRY(check_rank(ctx, 3, 2, 2));
  const Node& node = ctx.node;
  if (node.attr_int("is_packed_batching", 0) != 0)
    return error(ErrorCode::kUnsupported, "is_packed_batching is not evaluated; use padded rows");
  if (node.attr_int("rotary_embedding_dim", 0) != 0 && node.attr_int("num_heads", 0) < 1)
    return Error("rotary_embedding_dim without num_heads; give both");
  return one(ctx.input(0).type);
}

/// [B, S] of places.
Result<Tensor> places(const Tensor& ids, int64_t batch, int64_t steps) {
  if (ids.rank() == 2) return ids;
  if (ids.count() != 1)
    return error("position_ids has {} elements; give one or [B, S]", ids.count());
  const int64_t first = OCTET_TRY(ids.to_ints())[0];
  Tensor out = OCTET_TRY(Tensor::zeros(DType::kInt64, {batch, steps}));
  const auto to = out.mutable_data<int64_t>();
  for (int64_t i = 0; i < out.count(); ++i)
    to[static_cast<size_t>(i)] = wrap_add(first, i % steps);
  return out;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  Node node = ctx.node;
  if (x.rank() == 3 && node.attr_int("num_heads", 0) == 0) {
    const int64_t size = 2 * ctx.inputs[2].dim(1);
    if (size == 0 || x.dim(2) == 0 || x.dim(2) % size != 0)
      return error("{} columns for heads of {}; make them divide, or give num_heads", x.dim(2),
                   size);
    node.set("num_heads", x.dim(2) / size);
  }
  const Tensor ids = OCTET_TRY(places(ctx.inputs[1], x.dim(0), x.dim(x.rank() == 3 ? 1 : 2)));
  return onnx::op_RotaryEmbedding::facets.eval.fn({.node = node,
                                                   .version = kVersion,
                                                   .inputs = {x, ctx.inputs[2], ctx.inputs[3], ids},
                                                   .run_body = {},
                                                   .seed = 0});
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::ms::op_RotaryEmbedding

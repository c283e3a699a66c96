// SPDX-License-Identifier: Apache-2.0
// SpaceToDepth (opset 1). [N, C, H, W] to [N, C b^2, H / b, W / b], b the block size; the channel
// holds (row, column, c).
#include "core/format.h"
#include "ops/shared/movement.h"
#include "ops/shared/types.h"

namespace octet::onnx::op_SpaceToDepth {
namespace {

struct SpaceToDepthAttrs {
  int64_t block = 0;
};

Result<SpaceToDepthAttrs> parse(const Node& node) {
  const int64_t block = node.attr_int("blocksize", 0);
  if (block < 1 || block > (1 << 20)) return error("blocksize is {}; it is 1 or more", block);
  return SpaceToDepthAttrs{.block = block};
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_present(ctx, 0));
  const int64_t block = OCTET_TRY(parse(ctx.node)).block;
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank()) return one(x.type, unknown_dims(4));
  if (x.rank() != 4) return error("x is {}; it must be [N, C, H, W]", x.text());
  const auto& d = *x.shape;
  for (size_t i = 2; i < 4; ++i)
    if (d[i].is_constant() && d[i].value() % block != 0)
      return error("axis {} of {} does not split into blocks of {}; make it a multiple", i,
                   x.text(), block);
  return one(x.type, std::vector<Dim>{d[0], d[1] * Dim(block * block), d[2] / Dim(block),
                                      d[3] / Dim(block)});
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const int64_t b = OCTET_TRY(parse(ctx.node)).block;
  const Tensor& x = ctx.inputs[0];
  const Shape s = strides_of(x.shape());
  // y: [N, row, column, C, H, W]
  const Shape split = {shape[0], b, b, x.dim(1), shape[2], shape[3]};
  const Shape strides = {s[0], s[2], s[3], s[1], s[2] * b, s[3] * b};
  return one(OCTET_TRY(take(x, shape, strided_index(split, strides))));
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

} // namespace octet::onnx::op_SpaceToDepth

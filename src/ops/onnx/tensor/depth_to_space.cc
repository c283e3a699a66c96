// SPDX-License-Identifier: Apache-2.0
// DepthToSpace (opset 1). [N, C, H, W] to [N, C / b^2, H b, W b], b the block size; the channel
// holds (row, column, c) in mode DCR and (c, row, column) in mode CRD (opset 11).
#include "core/format.h"
#include "ops/shared/depth_strides.h"
#include "ops/shared/movement.h"
#include "ops/shared/types.h"

namespace octet::onnx::op_DepthToSpace {
namespace {

Result<int64_t> block_of(const Node& node) {
  const std::string mode = node.attr_string("mode", "DCR");
  const int64_t block = node.attr_int("blocksize", 0);
  if (mode != "DCR" && mode != "CRD") return error("mode is \"{}\"; use DCR or CRD", mode);
  if (block < 1 || block > (1 << 20)) return error("blocksize is {}; it is 1 or more", block);
  return block;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_present(ctx, 0));
  const int64_t block = OCTET_TRY(block_of(ctx.node));
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank()) return one(x.type, unknown_dims(4));
  if (x.rank() != 4) return error("x is {}; it must be [N, C, H, W]", x.text());
  const auto& d = *x.shape;
  if (d[1].is_constant() && d[1].value() % (block * block) != 0)
    return error("{} channels do not split into blocks of {} x {}; make them a multiple of {}",
                 d[1].value(), block, block, block * block);
  return one(x.type, std::vector<Dim>{d[0], d[1] / Dim(block * block), d[2] * Dim(block),
                                      d[3] * Dim(block)});
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const int64_t b = OCTET_TRY(block_of(ctx.node));
  const Tensor& x = ctx.inputs[0];
  const Shape s = strides_of(x.shape());
  const DepthStrides within = depth_strides(ctx.node, b, b, shape[1]);
  // y: [N, C, H, row, W, column]
  const Shape split = {shape[0], shape[1], x.dim(2), b, x.dim(3), b};
  const Shape strides = {s[0], s[1] * within.channel, s[2], s[1] * within.row,
                         s[3], s[1] * within.column};
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

} // namespace octet::onnx::op_DepthToSpace

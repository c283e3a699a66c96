// SPDX-License-Identifier: Apache-2.0
// octet.native DepthToSpace (1). x: [N, H, W, r s C] of any type; blocks: [r, s]. y: [N, H r, W s, C],
// where each pixel's channels are r rows of s columns of C in mode DCR, and C times r rows of s columns
// in mode CRD. ONNX's DepthToSpace in NHWC, with blocks that need not be square.
#include "core/format.h"
#include "ops/native/epilogue.h"
#include "ops/shared/depth_strides.h"
#include "ops/shared/movement.h"
#include "ops/shared/validate.h"

namespace octet::native::op_DepthToSpace {
namespace {

constexpr int64_t kMostPerAxis = 1 << 16;

Result<std::vector<int64_t>> blocks_of(const Node& node) {
  auto blocks = node.attr_ints("blocks");
  if (blocks.size() != 2 || blocks[0] < 1 || blocks[1] < 1 || blocks[0] > kMostPerAxis ||
      blocks[1] > kMostPerAxis)
    return error("blocks is {}; give two numbers from 1 to {}", to_string(blocks), kMostPerAxis);
  return blocks;
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 1));
  OCTET_TRY(check_present(c, 0));
  OCTET_TRY(check_rank(c, 0, 4, 4));
  const auto blocks = OCTET_TRY(blocks_of(c.node));
  if (const std::string mode = c.node.attr_string("mode", "DCR"); mode != "DCR" && mode != "CRD")
    return error("mode is \"{}\"; use DCR or CRD", mode);
  const TypeInfo& x = c.input(0).type;
  if (!x.has_rank()) return one(x.type, unknown_dims(4));
  const auto& d = *x.shape;
  const int64_t each = blocks[0] * blocks[1];
  if (d[3].is_constant() && d[3].value() % each != 0)
    return error("{} channels do not split into blocks of {} x {}; make them a multiple of {}",
                 d[3].value(), blocks[0], blocks[1], each);
  return one(x.type, std::vector<Dim>{d[0], d[1] * Dim(blocks[0]), d[2] * Dim(blocks[1]),
                                      d[3] / Dim(each)});
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const Shape shape = OCTET_TRY(infer_shape(infer, c));
  const auto blocks = OCTET_TRY(blocks_of(c.node));
  const Tensor& x = c.inputs[0];
  const Shape s = strides_of(x.shape());
  // y: [N, H, row, W, column, C]
  const Shape split = {shape[0], x.dim(1), blocks[0], x.dim(2), blocks[1], shape[3]};
  const DepthStrides within = depth_strides(c.node, blocks[0], blocks[1], shape[3]);
  const Shape strides = {s[0], s[1], within.row, s[2], within.column, within.channel};
  return one(OCTET_TRY(take(x, shape, strided_index(split, strides))));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::native::op_DepthToSpace

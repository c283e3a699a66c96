// SPDX-License-Identifier: Apache-2.0
// octet.native Conv (1). x: [N, H, W, C], w: [O, kh, kw, C / group], bias: [O], all f32. y =
// clamp(chain over (kh, kw, c) + bias, min, max); taps in the padding are skipped. Attributes:
// strides [2], pads [top, left, bottom, right], dilations [2], group, min, max.
// docs/native-operators.md, docs/numerics.md.
#include "ops/native/chain.h"
#include "ops/native/images.h"

namespace octet::native::op_Conv {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_chain_operands(c));
  OCTET_TRY(check_rank(c, 0, 4, 4));
  OCTET_TRY(check_rank(c, 1, 4, 4));
  const TypeInfo &x = c.input(0).type, &w = c.input(1).type;
  const auto window = OCTET_TRY(parse_image_conv(c.node, x, w));
  if (!window) return one(DType::kFloat32, std::nullopt);
  OCTET_TRY(check_vector(c, 2, (*w.shape)[0], "bias elements and output channels"));
  return one(DType::kFloat32, OCTET_TRY(image_shape(*window, x, (*w.shape)[0])));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const Tensor &xt = c.inputs[0], &wt = c.inputs[1];
  const ChainOperands operands = OCTET_TRY(chain_operands(c));
  const auto attrs = OCTET_TRY(parse_image_conv(c.node, tensor_type(xt.type(), xt.shape()),
                                                tensor_type(wt.type(), wt.shape())));
  const Window3 g = image_window(*attrs, xt.shape(), y.shape());
  const int64_t channels = xt.dim(3), per = wt.dim(3), count = wt.dim(0),
                group_out = count / c.node.attr_int("group", 1), taps = g.kernel_count();
  float* out = y.mutable_data<float>().data();
  for_each_pixel(g, xt.dim(0), channels, [&](int64_t image, int64_t h, int64_t v) {
    for_each_tap(g, image, channels, h, v, [&](int64_t tap, int64_t pixel) {
      for (int64_t o = 0; o < count; ++o)
        out[o] = fma_chain(out[o], operands.x.data() + pixel + o / group_out * per, 1,
                           operands.w.data() + (o * taps + tap) * per, 1, per);
    });
    for (int64_t o = 0; o < count; ++o)
      out[o] = operands.finish(out[o], o);
    out += count;
  });
  return one(std::move(y));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true},
};

} // namespace octet::native::op_Conv

// SPDX-License-Identifier: Apache-2.0
// octet.native ConvTranspose (1). x: [N, H, W, C], w: [O, kh, kw, C / group], bias: [O], all f32.
// y[p * stride + t * dilation - pad] of ONNX's operator, turned round: y = clamp(chain over the taps
// (kh, kw, c) that hit it + bias, min, max). Attributes: strides [2], pads [top, left, bottom,
// right] or auto_pad, dilations [2], output_padding [2], output_shape [2], group, min, max.
// docs/native-operators.md, docs/numerics.md.
#include "core/format.h"
#include "ops/native/chain.h"
#include "ops/native/images.h"
#include "ops/shared/transposed_window.h"

namespace octet::native::op_ConvTranspose {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_chain_operands(c));
  OCTET_TRY(check_rank(c, 0, 4, 4));
  OCTET_TRY(check_rank(c, 1, 4, 4));
  const TypeInfo &x = c.input(0).type, &w = c.input(1).type;
  if (!w.has_rank() || !(*w.shape)[1].is_constant() || !(*w.shape)[2].is_constant())
    return one(DType::kFloat32, std::nullopt);
  const Dim &channels = (*w.shape)[0], &in = (*w.shape)[3];
  const auto a =
      OCTET_TRY(parse_transposed(c.node, {(*w.shape)[1].value(), (*w.shape)[2].value()}));
  if (channels.is_constant() && channels.value() % a.group != 0)
    return error("{} output channels in {} groups; make them divide", channels.value(), a.group);
  OCTET_TRY(check_vector(c, 2, channels, "bias elements and output channels"));
  std::vector<Dim> shape = {Dim(), Dim(), Dim(), channels};
  if (!x.has_rank()) return one(DType::kFloat32, shape);
  OCTET_TRY(merge_dims((*x.shape)[3], in * Dim(a.group), "channels of the image and the weights"));
  shape[0] = (*x.shape)[0];
  for (size_t axis = 0; axis < 2; ++axis) {
    const Dim& size = (*x.shape)[axis + 1];
    if (!size.is_constant()) continue;
    const int64_t out = transposed_extent(a, axis, size.value()).size;
    if (out < 0) return error("the output has {} elements on spatial axis {}; pad less", out, axis);
    shape[axis + 1] = Dim(out);
  }
  return one(DType::kFloat32, std::move(shape));
}

/// Where a tap of an output element takes its input from; negative where it hits none.
int64_t
source(int64_t out, int64_t tap, int64_t pad, int64_t stride, int64_t dilation, int64_t in) {
  const int64_t at = out + pad - tap * dilation;
  return at >= 0 && at % stride == 0 && at / stride < in ? at / stride : -1;
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const Tensor &xt = c.inputs[0], &wt = c.inputs[1];
  const ChainOperands operands = OCTET_TRY(chain_operands(c));
  const auto a = OCTET_TRY(parse_transposed(c.node, {wt.dim(1), wt.dim(2)}));
  const std::vector<int64_t>&stride = a.window.strides, &dilation = a.window.dilations;
  const int64_t top = transposed_extent(a, 0, xt.dim(1)).pad,
                left = transposed_extent(a, 1, xt.dim(2)).pad;
  const int64_t count = wt.dim(0), per = wt.dim(3), group_out = count / a.group;
  float* out = y.mutable_data<float>().data();
  for (int64_t n = 0; n < y.dim(0); ++n)
    for (int64_t h = 0; h < y.dim(1); ++h)
      for (int64_t v = 0; v < y.dim(2); ++v, out += count) {
        for (int64_t i = 0; i < wt.dim(1); ++i)
          for (int64_t j = 0; j < wt.dim(2); ++j) {
            const int64_t row = source(h, i, top, stride[0], dilation[0], xt.dim(1));
            const int64_t column = source(v, j, left, stride[1], dilation[1], xt.dim(2));
            if (row < 0 || column < 0) continue;
            const float* pixel =
                operands.x.data() + ((n * xt.dim(1) + row) * xt.dim(2) + column) * xt.dim(3);
            for (int64_t o = 0; o < count; ++o)
              out[o] = fma_chain(out[o], pixel + o / group_out * per, 1,
                                 operands.w.data() + ((o * wt.dim(1) + i) * wt.dim(2) + j) * per, 1,
                                 per);
          }
        for (int64_t o = 0; o < count; ++o)
          out[o] = operands.finish(out[o], o);
      }
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

} // namespace octet::native::op_ConvTranspose

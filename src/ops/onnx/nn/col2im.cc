// SPDX-License-Identifier: Apache-2.0
// Col2Im (opset 18). x: [N, C * block elements, blocks], the columns that a convolution of a
// [N, C, image_shape] image with windows of block_shape would have; y: the image with each element
// of each window added at its place.
#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_Col2Im {
namespace {

/// Windows over one spatial axis.
struct Axis {
  int64_t image, block, dilation, stride, pad_begin, pad_end;
  int64_t windows() const {
    return (image + pad_begin + pad_end - dilation * (block - 1) - 1) / stride + 1;
  }
};

Result<std::vector<Axis>>
parse(const Node& node, std::span<const int64_t> image, std::span<const int64_t> block) {
  const size_t n = image.size();
  auto dilations = node.attr_ints("dilations"), strides = node.attr_ints("strides"),
       pads = node.attr_ints("pads");
  if (dilations.empty()) dilations.assign(n, 1);
  if (strides.empty()) strides.assign(n, 1);
  if (pads.empty()) pads.assign(2 * n, 0);
  if (block.size() != n || dilations.size() != n || strides.size() != n || pads.size() != 2 * n)
    return error("image_shape has {} entries; block_shape, dilations, strides or pads do not fit",
                 n);
  constexpr int64_t kLargest = int64_t{1} << 30;
  std::vector<Axis> axes;
  for (size_t i = 0; i < n; ++i) {
    const Axis a{image[i], block[i], dilations[i], strides[i], pads[i], pads[n + i]};
    for (const int64_t v : {a.image, a.block, a.dilation, a.stride, a.pad_begin + 1, a.pad_end + 1})
      if (v < 1 || v > kLargest)
        return error("axis {}: image, block, dilation, stride or pads are out of range", i);
    if (a.image + a.pad_begin + a.pad_end < a.dilation * (a.block - 1) + 1)
      return error("axis {}: a block of {} does not fit an image of {}", i, a.block, a.image);
    axes.push_back(a);
  }
  return axes;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 3, 3));
  OCTET_TRY(check_input(ctx, 0, kNumericTypes));
  OCTET_TRY(check_input(ctx, 1, kInt64Type));
  OCTET_TRY(check_input(ctx, 2, kInt64Type));
  OCTET_TRY(check_rank(ctx, 0, 3, 3));
  const TypeInfo& x = ctx.input(0).type;
  const auto image = known_ints(ctx.input(1)), block = known_ints(ctx.input(2));
  if (!image || !block) return one(x.type, std::nullopt);
  const auto axes = OCTET_TRY(parse(ctx.node, *image, *block));
  std::vector<Dim> out(2, Dim::unknown());
  out.insert(out.end(), image->begin(), image->end());
  if (!x.has_rank()) return one(x.type, out);
  Dim windows = 1, elements = 1;
  for (const Axis& a : axes) {
    windows = windows * Dim(a.windows());
    elements = elements * Dim(a.block);
  }
  OCTET_TRY(merge_dims((*x.shape)[2], windows, "columns of x and places of the block"));
  const Dim& rows = (*x.shape)[1];
  if (rows.is_constant() && elements.is_constant() && rows.value() % elements.value() != 0)
    return error("x has {} rows, not a multiple of the block's {} elements", rows.value(),
                 elements.value());
  out[0] = (*x.shape)[0];
  out[1] = rows / elements;
  return one(x.type, out);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const auto image = OCTET_TRY(integer_values(ctx.inputs[1]));
  const auto block = OCTET_TRY(integer_values(ctx.inputs[2]));
  const auto axes = OCTET_TRY(parse(ctx.node, image, block));
  const int64_t elements = product(block), windows = x.dim(2);
  const int64_t pixels = product(image);
  const auto values = OCTET_TRY(x.to_doubles());
  std::vector<double> y(static_cast<size_t>(product(shape)));
  for (int64_t e = 0; e < elements; ++e)
    for (int64_t w = 0; w < windows; ++w) {
      int64_t at = 0, scale = 1, e_rest = e, w_rest = w;
      bool inside = true;
      for (size_t i = axes.size(); i-- > 0;) {
        const Axis& a = axes[i];
        const int64_t place =
            w_rest % a.windows() * a.stride + e_rest % a.block * a.dilation - a.pad_begin;
        inside = inside && place >= 0 && place < a.image;
        at += place * scale;
        scale *= a.image;
        w_rest /= a.windows();
        e_rest /= a.block;
      }
      if (!inside) continue;
      for (int64_t plane = 0; plane < shape[0] * shape[1]; ++plane)
        y[static_cast<size_t>(plane * pixels + at)] +=
            values[static_cast<size_t>((plane * elements + e) * windows + w)];
    }
  return one(OCTET_TRY(rounded(x.type(), shape, y)));
}

} // namespace

extern const OpFacets facets = {
    .since = 18,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Col2Im

// SPDX-License-Identifier: Apache-2.0
// DeformConv (opset 19), two spatial axes. x: [N, C, H, W], w: [O, C / group, kh, kw],
// offset: [N, offset_group * kh * kw * 2, h, w], b: [O], mask: [N, offset_group * kh * kw, h, w].
// A convolution whose taps are moved by the offsets (rows first), read between elements by linear
// interpolation with zeros outside, and weighted by the mask.
#include "core/format.h"
#include "ops/shared/convolution.h"
#include "ops/shared/sampling.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_DeformConv {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 3, 5));
  for (size_t i = 0; i < 5; ++i) {
    if (i < 3) OCTET_TRY(check_present(ctx, i));
    OCTET_TRY(check_optional(ctx, i, kFloatTypes));
  }
  for (size_t i = 0; i < 5; ++i)
    if (i != 3) OCTET_TRY(check_rank(ctx, i, 4, 4));
  const DType type = OCTET_TRY(common_type(ctx, 0, ctx.inputs.size() - 1));
  const TypeInfo& w = ctx.input(1).type;
  auto shape = OCTET_TRY(conv_shape(ctx.node, ctx.input(0).type, w));
  if (!shape) return one(type, std::move(shape));
  OCTET_TRY(check_vector(ctx, 3, (*shape)[1], "bias elements and output channels"));
  const int64_t groups = ctx.node.attr_int("offset_group", 1);
  const auto channels =
      ctx.input(0).type.has_rank() ? (*ctx.input(0).type.shape)[1].maybe_value() : std::nullopt;
  if (groups < 1 || groups > (int64_t{1} << 30) || (channels && *channels % groups != 0))
    return error("offset_group is {}; it must divide the channels", groups);
  const Dim taps = w.has_rank() ? Dim(groups) * (*w.shape)[2] * (*w.shape)[3] : Dim::unknown();
  for (const size_t i : {size_t{2}, size_t{4}}) {
    const TypeInfo& t = ctx.input(i).type;
    if (!t.has_rank()) continue;
    const char* what = i == 2 ? "offset" : "mask";
    OCTET_TRY(merge_dims((*t.shape)[0], (*shape)[0], fmt::format("batches of {} and x", what)));
    OCTET_TRY(merge_dims((*t.shape)[1], i == 2 ? taps * Dim(2) : taps,
                         fmt::format("channels of {} and taps", what)));
    for (size_t k = 2; k < 4; ++k)
      (*shape)[k] =
          OCTET_TRY(merge_dims((*shape)[k], (*t.shape)[k], fmt::format("sizes of {} and y", what)));
  }
  return one(type, std::move(shape));
}

/// Reads moved taps of one image.
struct Sampler {
  const Window3& window;
  int64_t groups, channels;
  const double* x;
  const double* offset;
  const double* mask; ///< may be null

  double value(int64_t c, int64_t tap, int64_t row, int64_t column) const {
    const int64_t taps = window.kernel_count(), out = window.out_count();
    const int64_t at = c / (channels / groups) * taps + tap;
    const int64_t pixel = row * window.out[2] + column;
    const auto moved = [&](int axis, int64_t place, int64_t k) {
      const double shift = offset[(at * 2 + axis - 1) * out + pixel];
      return static_cast<double>(place * window.stride[axis] - window.pad[axis] +
                                 k * window.dilation[axis]) +
             shift;
    };
    const SampledAxis axes[] = {{window.in[1], 0, 0}, {window.in[2], 0, 0}};
    const Taps both[] = {
        taps_at(axes[0], moved(1, row, tap / window.kernel[2]), Sampling::kLinear, Beyond::kZeros),
        taps_at(axes[1], moved(2, column, tap % window.kernel[2]), Sampling::kLinear,
                Beyond::kZeros)};
    const double v = sample(x + c * window.in_count(), axes, both);
    return mask == nullptr ? v : v * mask[at * out + pixel];
  }
};

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const auto s =
      OCTET_TRY(conv_sizes(ctx.node, ctx.inputs[0].shape(), ctx.inputs[1].shape(), shape));
  const auto x = OCTET_TRY(ctx.inputs[0].to_doubles());
  const auto w = OCTET_TRY(ctx.inputs[1].to_doubles());
  const auto offset = OCTET_TRY(ctx.inputs[2].to_doubles());
  std::vector<double> bias(static_cast<size_t>(s.out_channels)), mask;
  if (ctx.has(3)) bias = OCTET_TRY(ctx.inputs[3].to_doubles());
  if (ctx.has(4)) mask = OCTET_TRY(ctx.inputs[4].to_doubles());
  const int64_t groups = ctx.node.attr_int("offset_group", 1);
  const int64_t taps = s.window.kernel_count(), out = s.window.out_count();
  const int64_t group_in = s.in_channels / s.group, group_out = s.out_channels / s.group;
  std::vector<double> y(static_cast<size_t>(product(shape)));
  for (int64_t n = 0; n < s.batch; ++n) {
    const Sampler sampler{s.window,
                          groups,
                          s.in_channels,
                          x.data() + n * s.in_channels * s.window.in_count(),
                          offset.data() + n * groups * taps * 2 * out,
                          mask.empty() ? nullptr : mask.data() + n * groups * taps * out};
    for (int64_t o = 0; o < s.out_channels; ++o)
      for (int64_t p = 0; p < out; ++p) {
        double sum = bias[static_cast<size_t>(o)];
        for (int64_t i = 0; i < group_in; ++i)
          for (int64_t t = 0; t < taps; ++t)
            sum += w[static_cast<size_t>((o * group_in + i) * taps + t)] *
                   sampler.value(o / group_out * group_in + i, t, p / s.window.out[2],
                                 p % s.window.out[2]);
        y[static_cast<size_t>((n * s.out_channels + o) * out + p)] = sum;
      }
  }
  return one(OCTET_TRY(rounded(ctx.inputs[0].type(), shape, y)));
}

Role roles(const Node&, size_t input) {
  return input == 1 ? Role::kWeight : input == 3 ? Role::kBias : Role::kData;
}

} // namespace

extern const OpFacets facets = {
    .since = 19,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true, .unchanged = true},
};

} // namespace octet::onnx::op_DeformConv

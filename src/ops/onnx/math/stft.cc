// SPDX-License-Identifier: Apache-2.0
// STFT (opset 17). signal: [batch, n, 1 or 2], or real ones as [batch, n]; frames of frame_length elements, frame_step apart,
// times the window, each transformed. y: [batch, frames, frequencies, 2]; onesided keeps
// frame_length / 2 + 1 frequencies.
#include "core/format.h"
#include "ops/shared/fourier.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_STFT {
namespace {

struct Frames {
  int64_t length, step, count;
};

/// Nothing: not known before it runs.
Result<std::optional<Frames>> parse(const InferContext& ctx) {
  const auto step = known_ints(ctx.input(1));
  std::optional<int64_t> length;
  if (ctx.has(3)) {
    const auto given = known_ints(ctx.input(3));
    if (given && given->size() == 1) length = (*given)[0];
  } else if (ctx.has(2)) {
    if (const auto shape = ctx.input(2).type.static_shape(); shape && shape->size() == 1)
      length = (*shape)[0];
  }
  const TypeInfo& x = ctx.input(0).type;
  const auto size = x.has_rank() ? (*x.shape)[1].maybe_value() : std::nullopt;
  if (!step || step->size() != 1 || !length || !size) return std::optional<Frames>();
  const Frames f{*length, (*step)[0], 0};
  if (f.step < 1) return error("frame_step is {}; use 1 or more", f.step);
  if (f.length < 1 || f.length > *size)
    return error("frames of {} elements do not fit a signal of {}", f.length, *size);
  return std::optional(Frames{f.length, f.step, 1 + (*size - f.length) / f.step});
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 4));
  OCTET_TRY(check_input(ctx, 0, kFloatTypes));
  OCTET_TRY(check_input(ctx, 1, kIndexTypes));
  OCTET_TRY(check_scalar(ctx, 1));
  OCTET_TRY(check_optional(ctx, 2, kFloatTypes));
  OCTET_TRY(check_optional(ctx, 3, kIndexTypes));
  OCTET_TRY(check_scalar(ctx, 3));
  OCTET_TRY(check_rank(ctx, 0, 2, 3));
  if (!ctx.has(2) && !ctx.has(3)) return error("give a window or frame_length");
  const TypeInfo& x = ctx.input(0).type;
  const auto frames = OCTET_TRY(parse(ctx));
  std::vector<Dim> out = unknown_dims(4);
  out[3] = 2;
  if (x.has_rank()) out[0] = (*x.shape)[0];
  if (frames) {
    OCTET_TRY(check_vector(ctx, 2, frames->length, "window and frame_length"));
    out[1] = frames->count;
    out[2] = ctx.node.attr_int("onesided", 1) != 0 ? frames->length / 2 + 1 : frames->length;
  }
  return one(x.type, out);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const auto step = static_cast<int64_t>(ctx.inputs[1].at(0));
  const int64_t length =
      ctx.has(3) ? static_cast<int64_t>(ctx.inputs[3].at(0)) : ctx.inputs[2].count();
  FourierLines<double> lines{.layout = stft_layout(x.shape(), shape, step, length)};
  const std::vector<double> values = OCTET_TRY(x.to_doubles());
  std::vector<double> window;
  if (ctx.has(2)) window = OCTET_TRY(ctx.inputs[2].to_doubles());
  std::vector<double> y(static_cast<size_t>(product(shape)));
  lines.x = values.data();
  lines.y = y.data();
  if (ctx.has(2)) lines.window = window.data();
  transform_lines(make_fourier(lines.layout), lines);
  return one(OCTET_TRY(rounded(x.type(), shape, y)));
}

} // namespace

extern const OpFacets facets = {
    .since = 17,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_STFT

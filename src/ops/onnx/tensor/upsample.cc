// SPDX-License-Identifier: Apache-2.0
// Upsample (opset 7 to 9, replaced by Resize). x enlarged by a scale of 1 or more along each axis,
// an attribute before opset 9, an input since; y[i] is x[floor(i / scale)] (nearest), or
// interpolated at i / scale (linear).
#include "core/format.h"
#include "ops/shared/movement.h"
#include "ops/shared/resize_weights.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_Upsample {
namespace {

/// Nothing: not known before it runs.
Result<std::optional<std::vector<double>>> parse_scales(const InferContext& ctx) {
  std::vector<double> scales;
  if (ctx.version < 9) {
    for (const float s : ctx.node.attr_floats("scales"))
      scales.push_back(static_cast<double>(s));
  } else {
    if (ctx.input(1).constant == nullptr) return std::optional<std::vector<double>>();
    scales = OCTET_TRY(ctx.input(1).constant->to_doubles());
  }
  for (const double s : scales)
    if (!(s >= 1 && s < 0x1p30)) return error("scales holds {}; use 1 or more", s);
  return std::optional(std::move(scales));
}

Result<Interpolation> parse_mode(const Node& node) {
  const std::string mode = node.attr_string("mode", "nearest");
  if (mode == "nearest") return Interpolation::kNearest;
  if (mode == "linear") return Interpolation::kLinear;
  return error("mode is \"{}\"; use nearest or linear", mode);
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, ctx.version < 9 ? 1 : 2, ctx.version < 9 ? 1 : 2));
  OCTET_TRY(check_input(ctx, 0, kNumericTypes));
  OCTET_TRY(check_optional(ctx, 1, TypeSet{DType::kFloat32}));
  OCTET_TRY(parse_mode(ctx.node));
  const TypeInfo& x = ctx.input(0).type;
  const auto scales = OCTET_TRY(parse_scales(ctx));
  if (!x.has_rank()) return one(x.type, std::nullopt);
  if (!scales) return one(x.type, unknown_dims(x.rank()));
  if (static_cast<int64_t>(scales->size()) != x.rank())
    return error("{} scales for x {}; give one for each axis", scales->size(), x.text());
  std::vector<Dim> out;
  for (size_t i = 0; i < scales->size(); ++i) {
    const auto size = (*x.shape)[i].maybe_value();
    const double scale = (*scales)[i];
    const bool whole = scale == static_cast<double>(static_cast<int64_t>(scale));
    if (size)
      out.emplace_back(static_cast<int64_t>(static_cast<double>(*size) * scale));
    else
      out.push_back(whole ? (*x.shape)[i] * Dim(static_cast<int64_t>(scale)) : Dim::unknown());
  }
  return one(x.type, out);
}

/// One axis after the other.
std::vector<double> resized(std::vector<double> x,
                            Shape shape,
                            const Shape& wanted,
                            std::span<const double> scales,
                            const ResizeMode& mode) {
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const int64_t inner = product(shape, axis + 1, shape.size());
    const int64_t outer = product(shape, 0, axis);
    const ResizeAxis a{.in = shape[axis], .out = wanted[axis], .scale = scales[axis]};
    std::vector<double> y(static_cast<size_t>(outer * a.out * inner));
    for (int64_t k = 0; k < a.out; ++k) {
      const ResizeWeights w = resize_weights(mode, a, k);
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t i = 0; i < inner; ++i)
          for (size_t t = 0; t < w.index.size(); ++t)
            y[static_cast<size_t>((o * a.out + k) * inner + i)] +=
                w.weight[t] * x[static_cast<size_t>((o * a.in + w.index[t]) * inner + i)];
    }
    x = std::move(y);
    shape[axis] = a.out;
  }
  return x;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  std::vector<double> scales;
  for (const float s : ctx.node.attr_floats("scales"))
    scales.push_back(static_cast<double>(s));
  if (ctx.version >= 9) scales = OCTET_TRY(ctx.inputs[1].to_doubles());
  ResizeMode mode;
  mode.interpolation = OCTET_TRY(parse_mode(ctx.node));
  mode.coordinates = Coordinates::kAsymmetric;
  mode.nearest = Nearest::kFloor;
  const auto values = OCTET_TRY(x.to_doubles());
  return one(OCTET_TRY(rounded(x.type(), shape, resized(values, x.shape(), shape, scales, mode))));
}

Motion motion(const Node& node) {
  const bool selects = node.attr_string("mode", "nearest") == "nearest";
  return {.kind = selects ? Motion::Kind::kSelect : Motion::Kind::kNone};
}

} // namespace

extern const OpFacets facets = {
    .since = 7,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = not_quantizable,
    .motion = motion,
    .range = of_sources,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_Upsample

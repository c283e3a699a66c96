// SPDX-License-Identifier: Apache-2.0
// DFT (opset 17, 20). x: [..., n, ..., 1 or 2], real or complex in the last axis; transformed along
// `axis`, cut or filled with zeros to dft_length. onesided keeps the first half of a forward
// transform of real data, and takes such a half as input of an inverse one, whose result is real.
// The axis is an attribute (1) before opset 20, an input (-2) since.
#include "core/format.h"
#include "ops/shared/fourier.h"
#include "ops/shared/movement.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_DFT {
namespace {

/// Tables and scratch memory of a line take up to 200 bytes for each number.
constexpr int64_t kLongest = int64_t{1} << 20;

struct DftAttrs {
  bool inverse = false, onesided = false;
};

DftAttrs parse(const Node& node) {
  return {.inverse = node.attr_int("inverse", 0) != 0,
          .onesided = node.attr_int("onesided", 0) != 0};
}

/// Nothing: not known before it runs.
Result<std::optional<int64_t>> parse_axis(const InferContext& ctx, int64_t rank) {
  std::optional<int64_t> input;
  if (ctx.version >= 20 && ctx.has(2)) {
    const auto known = known_ints(ctx.input(2));
    if (!known || known->size() != 1) return std::optional<int64_t>();
    input = (*known)[0];
  }
  const int64_t axis = OCTET_TRY(normalize_axis(dft_axis(ctx.node, ctx.version, input), rank));
  if (axis == rank - 1) return error("axis {} holds real and imaginary parts; use another", axis);
  return std::optional(axis);
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, ctx.version < 20 ? 2 : 3));
  OCTET_TRY(check_input(ctx, 0, kFloatTypes));
  OCTET_TRY(check_optional(ctx, 1, kIndexTypes));
  OCTET_TRY(check_optional(ctx, 2, kInt64Type));
  OCTET_TRY(check_scalar(ctx, 1));
  OCTET_TRY(check_scalar(ctx, 2));
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank()) return one(x.type, std::nullopt);
  if (x.rank() < 2) return error("x is {}; its last axis holds real and imaginary parts", x.text());
  const DftAttrs a = parse(ctx.node);
  std::vector<Dim> out = *x.shape;
  if (out.back().is_constant() && out.back() != Dim(1) && out.back() != Dim(2))
    return error("the last axis of {} has {} elements; real data has 1, complex data 2", x.text(),
                 out.back().text());
  out.back() = a.inverse && a.onesided ? 1 : 2;
  const auto axis = OCTET_TRY(parse_axis(ctx, x.rank()));
  if (!axis) return one(x.type, unknown_dims(x.rank()));
  Dim& size = out[static_cast<size_t>(*axis)];
  if (size == Dim(0)) return error("axis {} of {} is empty", *axis, x.text());
  Dim length = a.inverse && a.onesided ? (size - Dim(1)) * Dim(2) : size;
  if (ctx.has(1)) {
    const auto known = known_dims(ctx.input(1));
    length = known && known->size() == 1 ? (*known)[0] : Dim::unknown();
  }
  if (length.is_constant() && (length.value() < 1 || length.value() > kLongest))
    return error("the transform's length is {}; use 1 to {}", length.value(), kLongest);
  size = length;
  if (a.onesided && !a.inverse)
    size = length.is_constant() ? Dim(length.value() / 2 + 1) : Dim::unknown();
  return one(x.type, out);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const auto given = [&](size_t i) {
    return ctx.has(i) ? std::optional(static_cast<int64_t>(ctx.inputs[i].at(0))) : std::nullopt;
  };
  const int64_t axis =
      OCTET_TRY(normalize_axis(dft_axis(ctx.node, ctx.version, given(2)), x.rank()));
  FourierLines<double> lines{.layout = dft_layout(ctx.node, x.shape(), shape, axis, given(1))};
  const std::vector<double> values = OCTET_TRY(x.to_doubles());
  std::vector<double> y(static_cast<size_t>(product(shape)));
  lines.x = values.data();
  lines.y = y.data();
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

} // namespace octet::onnx::op_DFT

// SPDX-License-Identifier: Apache-2.0
// DFT (opset 17, 20). x: [..., n, ..., 1 or 2], real or complex in the last axis; transformed along
// `axis`, cut or filled with zeros to dft_length. onesided keeps the first half of a forward
// transform of real data, and takes such a half as input of an inverse one, whose result is real.
// The axis is an attribute (1) before opset 20, an input (-2) since.
#include <complex>

#include "core/format.h"
#include "ops/shared/fourier.h"
#include "ops/shared/movement.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_DFT {
namespace {

/// The plain sum takes the square of this in the worst case.
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
  int64_t axis = ctx.node.attr_int("axis", 1);
  if (ctx.version >= 20) {
    axis = -2;
    if (ctx.has(2)) {
      const auto known = known_ints(ctx.input(2));
      if (!known || known->size() != 1) return std::optional<int64_t>();
      axis = (*known)[0];
    }
  }
  axis = OCTET_TRY(normalize_axis(axis, rank));
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

using Line = std::vector<std::complex<double>>;

/// The second half of a spectrum of real data mirrors the first.
void complete(Line& half, int64_t length) {
  half.resize(static_cast<size_t>(length / 2 + 1));
  for (int64_t k = length / 2 + 1; k < length; ++k)
    half.push_back(std::conj(half[static_cast<size_t>(length - k)]));
  // The mean, and of an even length the middle, have no imaginary part.
  half[0] = half[0].real();
  if (length % 2 == 0)
    half[static_cast<size_t>(length / 2)] = half[static_cast<size_t>(length / 2)].real();
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const DftAttrs a = parse(ctx.node);
  int64_t axis = ctx.node.attr_int("axis", 1);
  if (ctx.version >= 20) axis = ctx.has(2) ? static_cast<int64_t>(ctx.inputs[2].at(0)) : -2;
  const auto along = static_cast<size_t>(OCTET_TRY(normalize_axis(axis, x.rank())));
  const bool to_real = a.inverse && a.onesided;
  int64_t length = to_real ? (x.shape()[along] - 1) * 2 : x.shape()[along];
  if (ctx.has(1)) length = static_cast<int64_t>(ctx.inputs[1].at(0));
  const auto values = OCTET_TRY(x.to_doubles());
  const bool is_complex = x.shape().back() == 2;
  const Shape from = strides_of(x.shape()), to = strides_of(shape);
  Shape lines = x.shape();
  lines[along] = 1;
  lines.back() = 1;
  const auto starts = strided_index(lines, from), targets = strided_index(lines, to);
  std::vector<double> y(static_cast<size_t>(product(shape)));
  for (size_t i = 0; i < starts.size(); ++i) {
    Line line;
    for (int64_t n = 0; n < x.shape()[along]; ++n) {
      const auto at = static_cast<size_t>(starts[i] + n * from[along]);
      line.emplace_back(values[at], is_complex ? values[at + 1] : 0);
    }
    if (to_real) complete(line, length);
    const Line result =
        fourier(line, length, shape[along], a.inverse ? Direction::kInverse : Direction::kForward);
    for (int64_t k = 0; k < shape[along]; ++k) {
      const auto at = static_cast<size_t>(targets[i] + k * to[along]);
      y[at] = result[static_cast<size_t>(k)].real();
      if (!to_real) y[at + 1] = result[static_cast<size_t>(k)].imag();
    }
  }
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

// SPDX-License-Identifier: Apache-2.0
// The step after an exact sum. Source: docs/numerics.md "Integer layers".
#include "ops/native/epilogue.h"

#include <cmath>
#include <limits>
#include <utility>

#include "core/format.h"
#include "core/numerics/epilogue.h"
#include "ops/qdq/quant_layout.h"

namespace octet::native {

Result<EpilogueAttrs> parse_epilogue(const Node& node) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  EpilogueAttrs a;
  a.to = static_cast<DType>(node.attr_int("to", static_cast<int64_t>(DType::kInt8)));
  a.min = node.attr_float("min", -kInf);
  a.max = node.attr_float("max", kInf);
  a.residual_ratio = node.attr_float("residual_ratio", 0);
  const int64_t residual_zero = node.attr_int("residual_zero_point", 0);
  if (residual_zero < -128 || residual_zero > 255)
    return error("residual_zero_point {}; use a code", residual_zero);
  a.residual_zero = static_cast<int32_t>(residual_zero);
  if (a.to == DType::kFloat32 || a.to == DType::kInt32) return a;
  if (!kCodes.has(a.to))
    return error("to {}; use i8 (3), u8 (2), f32 (1) or i32 (6)", static_cast<int>(a.to));
  const CodeRange range = *code_range(a.to);
  const int64_t zero = node.attr_int("y_zero_point", 0), lo = node.attr_int("lo", range.lo),
                hi = node.attr_int("hi", range.hi);
  for (int64_t code : {zero, lo, hi})
    if (code < range.lo || code > range.hi)
      return error("code {} is outside {} to {} of {}", code, range.lo, range.hi, name(a.to));
  if (lo > hi) return error("lo {} is above hi {}; swap them", lo, hi);
  a.zero = static_cast<int32_t>(zero);
  a.lo = static_cast<int32_t>(lo);
  a.hi = static_cast<int32_t>(hi);
  return a;
}

Result<int32_t> parse_zero_point(const Node& node, std::string_view key, DType type) {
  const int64_t zero = node.attr_int(key, 0);
  const CodeRange range = code_range(type).value_or(CodeRange{-128, 255});
  if (zero < range.lo || zero > range.hi)
    return error("{} is {}; use a code of {}, {} to {}", key, zero, name(type), range.lo, range.hi);
  return static_cast<int32_t>(zero);
}

Status check_epilogue_inputs(const InferContext& ctx,
                             const EpilogueAttrs& attrs,
                             const std::vector<Dim>& y_shape) {
  const Dim& channels = y_shape.back();
  OCTET_TRY(check_input(ctx, 2, kF32));
  const auto multipliers = ctx.input(2).type.static_shape();
  if (!multipliers || product(*multipliers) != 1)
    OCTET_TRY(check_vector(ctx, 2, channels, "multipliers and output channels"));
  OCTET_TRY(check_optional(ctx, 3, {DType::kFloat32, DType::kInt32}));
  OCTET_TRY(check_vector(ctx, 3, channels, "bias elements and output channels"));
  if (!ctx.has(4)) return ok_status();
  OCTET_TRY(check_input(ctx, 4, kCodes));
  if (!kCodes.has(attrs.to))
    return error("a residual beside output type {}; use i8 or u8", name(attrs.to));
  const TypeInfo& residual = ctx.input(4).type;
  if (!residual.has_rank()) return ok_status();
  OCTET_TRY(check_rank(ctx, 4, static_cast<int64_t>(y_shape.size()),
                       static_cast<int64_t>(y_shape.size())));
  for (size_t i = 0; i < y_shape.size(); ++i)
    OCTET_TRY(merge_dims((*residual.shape)[i], y_shape[i], "sizes of residual and output"));
  return ok_status();
}

namespace {

struct Channel {
  float multiplier, bias;
  int64_t int_bias;
};

Result<std::vector<Channel>> channels_of(const EpilogueInputs& in, size_t count) {
  std::vector<Channel> out(count, Channel{in.factor, 0, 0});
  if (in.multiplier != nullptr) {
    const auto m = OCTET_TRY(in.multiplier->to_floats());
    for (size_t i = 0; i < count; ++i)
      out[i].multiplier = m[m.size() == 1 ? 0 : i];
  }
  if (in.bias != nullptr && in.bias->type() == DType::kInt32) {
    const auto b = OCTET_TRY(in.bias->to_ints());
    for (size_t i = 0; i < count; ++i)
      out[i].int_bias = b[i];
  } else if (in.bias != nullptr) {
    const auto b = OCTET_TRY(in.bias->to_floats());
    for (size_t i = 0; i < count; ++i)
      out[i].bias = b[i];
  }
  return out;
}

} // namespace

Result<Tensor> apply_epilogue(const EpilogueAttrs& a,
                              const EpilogueInputs& in,
                              std::span<const int64_t> sums,
                              Shape y_shape) {
  const auto count = static_cast<size_t>(y_shape.empty() ? 1 : y_shape.back());
  const auto channels = OCTET_TRY(channels_of(in, count));
  Tensor y = OCTET_TRY(Tensor::zeros(a.to, std::move(y_shape)));
  std::vector<int64_t> residual;
  if (in.residual != nullptr) residual = OCTET_TRY(in.residual->to_ints());
  auto* bytes = y.mutable_bytes().data();
  float* floats = a.to == DType::kFloat32 ? y.mutable_data<float>().data() : nullptr;
  int32_t* ints = a.to == DType::kInt32 ? y.mutable_data<int32_t>().data() : nullptr;
  for (size_t i = 0; i < sums.size(); ++i) {
    const Channel& c = channels[i % count];
    const int64_t exact = sums[i] + c.int_bias;
    const auto acc = static_cast<int32_t>(exact);
    if (acc != exact) return error("a sum of {} does not fit 32 bits; split the layer", exact);
    if (ints != nullptr) {
      ints[i] = acc;
    } else if (floats != nullptr) {
      floats[i] = numerics::scale_to_float(acc, c.multiplier, c.bias, a.min, a.max);
    } else if (residual.empty()) {
      bytes[i] = static_cast<std::byte>(
          numerics::requantize(acc, c.multiplier, c.bias, a.zero, a.lo, a.hi));
    } else {
      bytes[i] = static_cast<std::byte>(
          numerics::requantize_add(acc, c.multiplier, c.bias, static_cast<int32_t>(residual[i]),
                                   a.residual_zero, a.residual_ratio, a.zero, a.lo, a.hi));
    }
  }
  return y;
}

Result<std::optional<EpilogueFunction>>
parse_function(const Node& node, const EpilogueAttrs& attrs, bool has_residual) {
  if (!node.has_attr("program")) return std::optional<EpilogueFunction>();
  if (attrs.to == DType::kInt32 || has_residual)
    return error("a program behind {}; use it where floats come before it",
                 has_residual ? "a residual" : "sums of type i32");
  EpilogueFunction f;
  f.program = OCTET_TRY_WITH(
      numerics::parse_program(node.attr_string("program", ""), node.attr_floats("constants"), 1),
      "program");
  f.scale = node.attr_float("y_scale", 1);
  if (!(f.scale > 0) || std::isinf(f.scale))
    return error("y_scale is {}; use a number above 0", f.scale);
  return std::optional(std::move(f));
}

Result<Tensor> apply_function(const EpilogueFunction& function,
                              const EpilogueAttrs& attrs,
                              const EpilogueInputs& inputs,
                              std::span<const int64_t> sums,
                              Shape y_shape) {
  EpilogueAttrs to_floats = attrs;
  to_floats.to = DType::kFloat32;
  Tensor x = OCTET_TRY(apply_epilogue(to_floats, inputs, sums, y_shape));
  for (float& v : x.mutable_data<float>())
    v = function.program.eval({&v, 1});
  if (attrs.to == DType::kFloat32) return x;
  Tensor y = OCTET_TRY(Tensor::zeros(attrs.to, std::move(y_shape)));
  const auto from = std::as_const(x).data<float>();
  const auto out = y.mutable_bytes();
  for (size_t i = 0; i < from.size(); ++i)
    out[i] = static_cast<std::byte>(
        numerics::quantize(from[i], function.scale, attrs.zero, attrs.lo, attrs.hi));
  return y;
}

Result<std::vector<int32_t>>
centered_codes(const Node& node, std::string_view key, const Tensor& codes) {
  const int32_t zero = OCTET_TRY(parse_zero_point(node, key, codes.type()));
  auto out = OCTET_TRY(weight_codes(codes));
  for (int32_t& v : out)
    v -= zero;
  return out;
}

Result<std::vector<int32_t>> weight_codes(const Tensor& codes) {
  const auto wide = OCTET_TRY(codes.to_ints());
  return std::vector<int32_t>(wide.begin(), wide.end());
}

QuantTrait is_lowered(const Node&, std::span<const InputInfo>) {
  return QuantTrait::none("is the result of lowering");
}

} // namespace octet::native

// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear and DequantizeLinear of FP8 activations with one scale, which may be computed.
#include "runtime/kernels/fp8.h"

#include <algorithm>

#include "core/format.h"
#include "core/threads.h"
#include "ops/shared/types.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

constexpr TypeSet kFp8{DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2,
                       DType::kFloat8E5M2FNUZ};

/// One scale of f32 and, where there is a zero point, a constant 0; else why not.
std::string refusal(const PrepareContext& c, std::string_view kernel) {
  const auto one_scale = c.type(1).static_shape();
  const bool is_one = one_scale && std::all_of(one_scale->begin(), one_scale->end(),
                                               [](int64_t d) { return d == 1; });
  if (c.type(1).type != DType::kFloat32 || !is_one)
    return fmt::format("{}: its scale is not one number of f32", kernel);
  if (!c.node.input(2).valid()) return {};
  const Tensor* zero = c.constant(2);
  if (zero == nullptr || zero->count() != 1 || zero->at(0) != 0)
    return fmt::format("{}: its zero point is not 0", kernel);
  return {};
}

} // namespace

Choice prepare_encode_fp8(const PrepareContext& c) {
  const DType type = c.graph.value(c.node.output(0)).type.type;
  const DType precision = static_cast<DType>(c.node.attr_int("precision", 0));
  if (!kFp8.has(type) || c.type(0).type != DType::kFloat32 ||
      (precision != DType::kUndefined && precision != DType::kFloat32))
    return Choice::refuse(
        fmt::format("encode fp8: no kernel from {} to {}", name(c.type(0).type), name(type)));
  if (std::string why = refusal(c, "encode fp8"); !why.empty())
    return Choice::refuse(std::move(why));
  kernels::EncodeFp8Args args;
  args.type = type;
  args.saturate = c.node.attr_int("saturate", 1) != 0 ? Saturate::kYes : Saturate::kNo;
  auto bind = [args, isa = c.isa](std::span<const Operand> in, std::span<const Operand> out) {
    return call_step([args, isa, x = in[0].id, scale = in[1].id, y = out[0].id,
                      count = in[0].count()](Slots slots, ParallelFor& parallel) {
      kernels::EncodeFp8Args a = args;
      a.count = count;
      a.x = at<const float>(slots, x);
      a.scale = *at<const float>(slots, scale);
      a.y = at<uint8_t>(slots, y);
      kernels::encode_fp8(a, isa, parallel);
    });
  };
  return {bind_with(std::move(bind)), fmt::format("encode {} {}", name(type), isa_name(c.isa)), {}};
}

Choice prepare_decode_fp8(const PrepareContext& c) {
  const DType type = c.type(0).type, to = c.graph.value(c.node.output(0)).type.type;
  if (!kFp8.has(type) || to != DType::kFloat32)
    return Choice::refuse(fmt::format("decode fp8: no kernel from {} to {}", name(type), name(to)));
  if (std::string why = refusal(c, "decode fp8"); !why.empty())
    return Choice::refuse(std::move(why));
  auto bind = [type, isa = c.isa](std::span<const Operand> in, std::span<const Operand> out) {
    return call_step([type, isa, x = in[0].id, scale = in[1].id, y = out[0].id,
                      count = in[0].count()](Slots slots, ParallelFor& parallel) {
      kernels::decode_fp8({.type = type,
                           .x = at<const uint8_t>(slots, x),
                           .count = count,
                           .scale = *at<const float>(slots, scale),
                           .y = at<float>(slots, y)},
                          isa, parallel);
    });
  };
  return {bind_with(std::move(bind)), fmt::format("decode {} {}", name(type), isa_name(c.isa)), {}};
}

} // namespace octet::runtime

// SPDX-License-Identifier: Apache-2.0
// octet.native Quantize and Dequantize.
#include "core/format.h"
#include "core/threads.h"
#include "runtime/kernels/codes.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {

Choice prepare_quantize(const PrepareContext& c) {
  kernels::QuantizeArgs args;
  args.scale = c.node.attr_float("scale", 1.0F);
  args.zero_point = static_cast<int32_t>(c.node.attr_int("zero_point", 0));
  args.is_signed = c.node.attr_int("to", static_cast<int64_t>(DType::kInt8)) ==
                   static_cast<int64_t>(DType::kInt8);
  args.lo = args.is_signed ? -128 : 0;
  args.hi = args.is_signed ? 127 : 255;
  auto bind = [args, isa = c.isa](std::span<const Operand> in, std::span<const Operand> out) {
    return call_step([args, isa, x = in[0].id, y = out[0].id,
                      count = in[0].count()](Slots slots, ParallelFor& parallel) {
      kernels::QuantizeArgs a = args;
      a.count = count;
      a.x = at<const float>(slots, x);
      a.y = at<void>(slots, y);
      kernels::quantize(a, isa, parallel);
    });
  };
  return {bind_with(std::move(bind)), fmt::format("quantize {}", isa_name(c.isa)), {}};
}

Choice prepare_dequantize(const PrepareContext& c) {
  kernels::DequantizeArgs args;
  args.scale = c.node.attr_float("scale", 1.0F);
  args.zero_point = static_cast<int32_t>(c.node.attr_int("zero_point", 0));
  args.is_signed = c.type(0).type == DType::kInt8;
  auto bind = [args, isa = c.isa](std::span<const Operand> in, std::span<const Operand> out) {
    return call_step([args, isa, x = in[0].id, y = out[0].id,
                      count = in[0].count()](Slots slots, ParallelFor& parallel) {
      kernels::DequantizeArgs a = args;
      a.count = count;
      a.x = at<const void>(slots, x);
      a.y = at<float>(slots, y);
      kernels::dequantize(a, isa, parallel);
    });
  };
  return {bind_with(std::move(bind)), fmt::format("dequantize {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime

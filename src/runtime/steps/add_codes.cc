// SPDX-License-Identifier: Apache-2.0
// octet.native QAdd.
#include "core/format.h"
#include "core/threads.h"
#include "runtime/kernels/codes.h"
#include "runtime/steps/broadcast.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {

Choice prepare_add_codes(const PrepareContext& c) {
  const auto number = [&](const char* key, int64_t otherwise) {
    return static_cast<int32_t>(c.node.attr_int(key, otherwise));
  };
  kernels::AddCodesArgs args;
  args.a_signed = c.type(0).type == DType::kInt8;
  args.b_signed = c.type(1).type == DType::kInt8;
  args.y_signed = number("to", 3) == 3;
  args.a_zero_point = number("a_zero_point", 0);
  args.b_zero_point = number("b_zero_point", 0);
  args.a_multiplier = c.node.attr_float("a_ratio", 1.0F);
  args.b_multiplier = c.node.attr_float("b_ratio", 1.0F);
  args.zero_point = number("y_zero_point", 0);
  args.lo = number("lo", args.y_signed ? -128 : 0);
  args.hi = number("hi", args.y_signed ? 127 : 255);
  auto bind = [args, isa = c.isa](std::span<const Operand> in, std::span<const Operand> out) {
    return call_step([args, isa, plan = broadcast_of(in, out[0]), a = in[0].id, b = in[1].id,
                      y = out[0].id](Slots slots, ParallelFor& parallel) {
      kernels::AddCodesArgs bound = args;
      bound.a = at<const void>(slots, a);
      bound.b = at<const void>(slots, b);
      bound.y = at<void>(slots, y);
      kernels::add_codes(bound, plan, isa, parallel);
    });
  };
  return {bind_with(std::move(bind)), fmt::format("add {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime

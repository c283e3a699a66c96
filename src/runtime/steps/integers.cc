// SPDX-License-Identifier: Apache-2.0
// Add, Sub, Mul, Div, Mod, Min, Max, Neg and Abs of integers, and what works on their bits.
#include "runtime/kernels/integers.h"

#include <array>
#include <utility>

#include "core/format.h"
#include "core/threads.h"
#include "runtime/steps/broadcast.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

using kernels::IntegerOp;

std::optional<IntegerOp> operation_of(const Node& node) {
  if (node.op_type == "Mod")
    return node.attr_int("fmod", 0) != 0 ? IntegerOp::kRemainder : IntegerOp::kMod;
  if (node.op_type == "BitShift")
    return node.attr_string("direction", "") == "LEFT" ? IntegerOp::kShiftLeft
                                                       : IntegerOp::kShiftRight;
  constexpr std::array<std::pair<std::string_view, IntegerOp>, 9> kNames = {
      {{"Add", IntegerOp::kAdd},
       {"Sub", IntegerOp::kSub},
       {"Mul", IntegerOp::kMul},
       {"Div", IntegerOp::kDiv},
       {"Min", IntegerOp::kMin},
       {"Max", IntegerOp::kMax},
       {"BitwiseAnd", IntegerOp::kAnd},
       {"BitwiseOr", IntegerOp::kOr},
       {"BitwiseXor", IntegerOp::kXor}}};
  for (const auto& [name, op] : kNames)
    if (node.op_type == name) return op;
  return std::nullopt;
}

/// Whether the bits of the result are the same for signed and unsigned operands.
bool is_modular(IntegerOp op) {
  return op == IntegerOp::kAdd || op == IntegerOp::kSub || op == IntegerOp::kMul ||
         op >= IntegerOp::kAnd;
}

template <class T>
Choice binary_step(IntegerOp op) {
  auto bind = [op](std::span<const Operand> in, std::span<const Operand> out) {
    return call_step([op, plan = broadcast_of(in, out[0]), a = in[0].id, b = in[1].id,
                      y = out[0].id](Slots slots, ParallelFor& parallel) {
      kernels::integers_broadcast(op, plan, at<const T>(slots, a), at<const T>(slots, b),
                                  at<T>(slots, y), parallel);
    });
  };
  return {bind_with(std::move(bind)), "integers", {}};
}

template <class T>
Choice unary_step(kernels::IntegerUnary op) {
  auto bind = [op](std::span<const Operand> in, std::span<const Operand> out) {
    return call_step([op, x = in[0].id, y = out[0].id,
                      count = in[0].count()](Slots slots, ParallelFor& parallel) {
      kernels::integers(op, at<const T>(slots, x), count, at<T>(slots, y), parallel);
    });
  };
  return {bind_with(std::move(bind)), "integers", {}};
}

} // namespace

Choice prepare_integer_binary(const PrepareContext& c) {
  const auto op = operation_of(c.node);
  if (!op || c.node.inputs.size() != 2) return Choice::refuse("integers: not of two operands");
  const DType type = c.type(0).type;
  const bool modular = is_modular(*op);
  if (type == DType::kInt32 || (modular && type == DType::kUint32))
    return binary_step<int32_t>(*op);
  if (type == DType::kInt64 || (modular && type == DType::kUint64))
    return binary_step<int64_t>(*op);
  if (type == DType::kInt8) return binary_step<int8_t>(*op);
  if (type == DType::kUint8) return binary_step<uint8_t>(*op);
  return Choice::refuse("integers: neither i32, i64, i8 nor u8");
}

Choice prepare_integer_unary(const PrepareContext& c) {
  using kernels::IntegerUnary;
  const bool inverts = c.node.op_type == "BitwiseNot";
  const IntegerUnary op = inverts                   ? IntegerUnary::kNot
                          : c.node.op_type == "Neg" ? IntegerUnary::kNeg
                                                    : IntegerUnary::kAbs;
  const DType type = c.type(0).type;
  if (type == DType::kInt32 || (inverts && type == DType::kUint32)) return unary_step<int32_t>(op);
  if (type == DType::kInt64 || (inverts && type == DType::kUint64)) return unary_step<int64_t>(op);
  if (type == DType::kInt8 || (inverts && type == DType::kUint8)) return unary_step<int8_t>(op);
  return Choice::refuse("integers: neither i32, i64 nor i8");
}

} // namespace octet::runtime

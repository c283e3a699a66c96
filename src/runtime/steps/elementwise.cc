// SPDX-License-Identifier: Apache-2.0
// Functions of the elements of one tensor, or of two or three that broadcast, which are no programs
// of floats (map.cc).
#include "core/format.h"
#include "core/threads.h"
#include "runtime/kernels/codes.h"
#include "runtime/kernels/convert.h"
#include "runtime/kernels/power.h"
#include "runtime/kernels/remainder.h"
#include "runtime/steps/broadcast.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

std::optional<kernels::Compare> compare_of(const Node& node) {
  if (node.op_type == "Equal") return kernels::Compare::kEqual;
  if (node.op_type == "Less") return kernels::Compare::kLess;
  if (node.op_type == "LessOrEqual") return kernels::Compare::kLessOrEqual;
  if (node.op_type == "Greater") return kernels::Compare::kGreater;
  if (node.op_type == "GreaterOrEqual") return kernels::Compare::kGreaterOrEqual;
  return std::nullopt;
}

std::optional<kernels::Logic> logic_of(const Node& node) {
  if (node.op_type == "And") return kernels::Logic::kAnd;
  if (node.op_type == "Or") return kernels::Logic::kOr;
  if (node.op_type == "Xor") return kernels::Logic::kXor;
  return std::nullopt;
}

template <class T>
Choice compare_step(kernels::Compare op) {
  auto bind = [op](std::span<const Operand> in, std::span<const Operand> out) {
    return call_step([op, plan = broadcast_of(in, out[0]), a = in[0].id, b = in[1].id,
                      y = out[0].id](Slots slots, ParallelFor& parallel) {
      kernels::compare_broadcast(op, plan, at<const T>(slots, a), at<const T>(slots, b),
                                 at<uint8_t>(slots, y), parallel);
    });
  };
  return {bind_with(std::move(bind)), "compare", {}};
}

/// Of elements as wide as T.
template <class T>
Choice where_step() {
  auto bind = [](std::span<const Operand> in, std::span<const Operand> out) {
    return call_step([plan = broadcast_of(in, out[0]), condition = in[0].id, a = in[1].id,
                      b = in[2].id, y = out[0].id](Slots slots, ParallelFor& parallel) {
      kernels::where_broadcast(plan, at<const uint8_t>(slots, condition), at<const T>(slots, a),
                               at<const T>(slots, b), at<T>(slots, y), parallel);
    });
  };
  return {bind_with(std::move(bind)), "where", {}};
}

} // namespace

Choice prepare_pow(const PrepareContext& c) {
  if (c.type(0).type != DType::kFloat32) return Choice::refuse("pow: not of type f32");
  const Tensor* exponent = c.constant(1);
  if (!exponent || exponent->count() != 1)
    return Choice::refuse("pow: the exponent is not one constant");
  const double e = exponent->at(0);
  auto bind = [e](std::span<const Operand> in, std::span<const Operand> out) {
    return call_step([e, x = in[0].id, y = out[0].id,
                      count = in[0].count()](Slots slots, ParallelFor& parallel) {
      kernels::power(at<const float>(slots, x), count, e, at<float>(slots, y), parallel);
    });
  };
  return {bind_with(std::move(bind)), "pow", {}};
}

Choice prepare_remainder(const PrepareContext& c) {
  if (c.type(0).type != DType::kFloat32) return Choice::refuse("remainder: not of type f32");
  auto bind = [](std::span<const Operand> in, std::span<const Operand> out) {
    return call_step([plan = broadcast_of(in, out[0]), a = in[0].id, b = in[1].id,
                      y = out[0].id](Slots slots, ParallelFor& parallel) {
      kernels::remainders(plan, at<const float>(slots, a), at<const float>(slots, b),
                          at<float>(slots, y), parallel);
    });
  };
  return {bind_with(std::move(bind)), "remainder", {}};
}

Choice prepare_where(const PrepareContext& c) {
  switch (bits(c.type(1).type)) {
  case 8:
    return where_step<uint8_t>();
  case 16:
    return where_step<uint16_t>();
  case 32:
    return where_step<uint32_t>();
  case 64:
    return where_step<uint64_t>();
  default:
    return Choice::refuse("where: elements are not of 1, 2, 4 or 8 bytes");
  }
}

Choice prepare_compare(const PrepareContext& c) {
  const auto op = compare_of(c.node);
  if (op && c.type(0).type == DType::kFloat32) return compare_step<float>(*op);
  if (op && c.type(0).type == DType::kInt32) return compare_step<int32_t>(*op);
  if (op && c.type(0).type == DType::kInt64) return compare_step<int64_t>(*op);
  if (op && c.type(0).type == DType::kInt8) return compare_step<int8_t>(*op);
  if (op && c.type(0).type == DType::kUint8) return compare_step<uint8_t>(*op);
  if (op == kernels::Compare::kEqual && c.type(0).type == DType::kBool)
    return compare_step<uint8_t>(*op);
  return Choice::refuse("compare: neither f32, i32, i64, i8 nor u8");
}

Choice prepare_logic(const PrepareContext& c) {
  const auto op = logic_of(c.node);
  if (!op || c.type(0).type != DType::kBool) return Choice::refuse("logic: not of type bool");
  auto bind = [op = *op](std::span<const Operand> in, std::span<const Operand> out) {
    return call_step([op, plan = broadcast_of(in, out[0]), a = in[0].id, b = in[1].id,
                      y = out[0].id](Slots slots, ParallelFor& parallel) {
      kernels::logic_broadcast(op, plan, at<const uint8_t>(slots, a), at<const uint8_t>(slots, b),
                               at<uint8_t>(slots, y), parallel);
    });
  };
  return {bind_with(std::move(bind)), "logic", {}};
}

Choice prepare_not(const PrepareContext& c) {
  auto bind = [isa = c.isa](std::span<const Operand> in, std::span<const Operand> out) {
    return call_step([isa, x = in[0].id, y = out[0].id,
                      count = in[0].count()](Slots slots, ParallelFor& parallel) {
      static constexpr uint8_t kNegated[256] = {1};
      kernels::lookup(kNegated, at<const uint8_t>(slots, x), count, at<uint8_t>(slots, y), isa,
                      parallel);
    });
  };
  return {bind_with(std::move(bind)), fmt::format("lookup {}", isa_name(c.isa)), {}};
}

Choice prepare_cast(const PrepareContext& c) {
  const auto to = static_cast<DType>(c.node.attr_int("to", 0));
  const auto convert = kernels::conversion(c.type(0).type, to);
  if (convert == nullptr)
    return Choice::refuse(
        fmt::format("cast: no kernel from {} to {}", name(c.type(0).type), name(to)));
  auto bind = [convert](std::span<const Operand> in, std::span<const Operand> out) {
    return call_step([convert, x = in[0].id, y = out[0].id,
                      count = in[0].count()](Slots slots, ParallelFor& parallel) {
      kernels::convert(convert, at<const void>(slots, x), count, at<void>(slots, y), parallel);
    });
  };
  return {bind_with(std::move(bind)), "cast", {}};
}

} // namespace octet::runtime

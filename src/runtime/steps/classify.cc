// SPDX-License-Identifier: Apache-2.0
// IsNaN and IsInf of f32.
#include "runtime/kernels/classify.h"

#include "core/threads.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

using kernels::FloatClass;

FloatClass class_of(const Node& node) {
  if (node.op_type == "IsNaN") return FloatClass::kNan;
  const bool negative = node.attr_int("detect_negative", 1) != 0;
  const bool positive = node.attr_int("detect_positive", 1) != 0;
  if (negative && positive) return FloatClass::kInfinite;
  if (negative) return FloatClass::kNegativeInfinite;
  return positive ? FloatClass::kPositiveInfinite : FloatClass::kNone;
}

} // namespace

Choice prepare_classify(const PrepareContext& c) {
  if (c.type(0).type != DType::kFloat32) return Choice::refuse("classify: not of type f32");
  auto bind = [of = class_of(c.node)](std::span<const Operand> in, std::span<const Operand> out) {
    return call_step([of, x = in[0].id, y = out[0].id,
                      count = in[0].count()](Slots slots, ParallelFor& parallel) {
      kernels::classify(of, at<const float>(slots, x), count, at<uint8_t>(slots, y), parallel);
    });
  };
  return {bind_with(std::move(bind)), "classify", {}};
}

} // namespace octet::runtime

// SPDX-License-Identifier: Apache-2.0
// CumSum, CumProd, ArgMax, ArgMin and TopK.
#include "runtime/kernels/scan.h"

#include <limits>

#include "core/format.h"
#include "core/threads.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

template <class T>
Choice running_step(const Node& node) {
  kernels::RunningArgs args;
  args.op = node.op_type == "CumSum" ? kernels::Running::kSum : kernels::Running::kProduct;
  args.exclusive = node.attr_int("exclusive", 0) != 0;
  args.reverse = node.attr_int("reverse", 0) != 0;
  auto bind = [args](std::span<const Operand> in,
                     std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    if (!in[1].known)
      return error(ErrorCode::kInternal, "the axis of running results is not known");
    const std::vector<int64_t> axis = OCTET_TRY(in[1].known->to_ints());
    kernels::RunningArgs bound = args;
    bound.lines = kernels::lines_of(in[0].shape, axis[0]);
    return call_step([bound, x = in[0].id, y = out[0].id](Slots slots, ParallelFor& parallel) {
      kernels::running<T>(bound, at<const T>(slots, x), at<T>(slots, y), parallel);
    });
  };
  return {bind_with(std::move(bind)), "scan", {}};
}

template <class T>
Choice arg_best_step(const Node& node) {
  kernels::ArgBestArgs args;
  args.rank = node.op_type == "ArgMax" ? kernels::Rank::kLargest : kernels::Rank::kSmallest;
  args.last = node.attr_int("select_last_index", 0) != 0;
  auto bind = [args, axis = node.attr_int("axis", 0)](
                  std::span<const Operand> in,
                  std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    kernels::ArgBestArgs bound = args;
    bound.lines = kernels::lines_of(in[0].shape, axis);
    if (bound.lines.size > std::numeric_limits<int32_t>::max())
      return error(ErrorCode::kUnsupported, "an axis of {} elements is longer than {}",
                   bound.lines.size, std::numeric_limits<int32_t>::max());
    return call_step([bound, x = in[0].id, y = out[0].id](Slots slots, ParallelFor& parallel) {
      kernels::arg_best<T>(bound, at<const T>(slots, x), at<int64_t>(slots, y), parallel);
    });
  };
  return {bind_with(std::move(bind)), "scan", {}};
}

template <class T>
Choice top_step(const PrepareContext& c) {
  const Node& node = c.node;
  kernels::TopArgs args;
  args.rank = node.attr_int("largest", 1) != 0 ? kernels::Rank::kLargest : kernels::Rank::kSmallest;
  auto bind = [args, isa = c.isa, axis = node.attr_int("axis", -1)](std::span<const Operand> in,
                                                                    std::span<const Operand> out) {
    kernels::TopArgs bound = args;
    const Operand& any = out[0].present() ? out[0] : out[1];
    bound.lines = kernels::lines_of(in[0].shape, axis);
    bound.k = kernels::lines_of(any.shape, axis).size;
    return call_step(
        [bound, isa, x = in[0].id, values = out[0].id,
         indices = out.size() > 1 ? out[1].id : -1](Slots slots, ParallelFor& parallel) {
          kernels::top_best<T>(bound, at<const T>(slots, x),
                               values < 0 ? nullptr : at<T>(slots, values),
                               indices < 0 ? nullptr : at<int64_t>(slots, indices), isa, parallel);
        });
  };
  return {bind_with(std::move(bind)), fmt::format("top {}", isa_name(c.isa)), {}};
}

} // namespace

Choice prepare_running(const PrepareContext& c) {
  if (!c.known(1)) return Choice::refuse("scan: the axis depends on data");
  if (!c.type(0).has_rank() || c.type(0).rank() == 0) return Choice::refuse("scan: of a scalar");
  if (c.type(0).type == DType::kFloat32) return running_step<float>(c.node);
  if (c.type(0).type == DType::kInt32) return running_step<int32_t>(c.node);
  if (c.type(0).type == DType::kInt64) return running_step<int64_t>(c.node);
  return Choice::refuse("scan: neither f32, i32 nor i64");
}

Choice prepare_arg_best(const PrepareContext& c) {
  if (!c.type(0).has_rank() || c.type(0).rank() == 0) return Choice::refuse("scan: of a scalar");
  if (c.type(0).type == DType::kFloat32) return arg_best_step<float>(c.node);
  if (c.type(0).type == DType::kInt32) return arg_best_step<int32_t>(c.node);
  if (c.type(0).type == DType::kInt64) return arg_best_step<int64_t>(c.node);
  if (c.type(0).type == DType::kInt8) return arg_best_step<int8_t>(c.node);
  if (c.type(0).type == DType::kUint8) return arg_best_step<uint8_t>(c.node);
  return Choice::refuse("scan: neither f32, i32, i64, i8 nor u8");
}

Choice prepare_top_k(const PrepareContext& c) {
  if (!c.type(0).has_rank() || c.type(0).rank() == 0) return Choice::refuse("top: of a scalar");
  if (c.type(0).type == DType::kFloat32) return top_step<float>(c);
  if (c.type(0).type == DType::kInt32) return top_step<int32_t>(c);
  if (c.type(0).type == DType::kInt64) return top_step<int64_t>(c);
  return Choice::refuse("top: neither f32, i32 nor i64");
}

} // namespace octet::runtime

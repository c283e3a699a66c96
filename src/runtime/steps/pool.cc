// SPDX-License-Identifier: Apache-2.0
// octet.native MaxPool, AveragePool and QAveragePool.
#include "runtime/kernels/pool.h"

#include "core/format.h"
#include "core/threads.h"
#include "runtime/steps/call.h"
#include "runtime/steps/image.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

kernels::PoolType pool_type(DType type) {
  if (type == DType::kInt8) return kernels::PoolType::kInt8;
  return type == DType::kUint8 ? kernels::PoolType::kUint8 : kernels::PoolType::kFloat;
}

Choice prepare_pool(const PrepareContext& c, kernels::PoolArgs args) {
  const std::optional<Dim> channels = c.type(0).has_rank() && c.type(0).rank() == 4
                                          ? std::optional((*c.type(0).shape)[3])
                                          : std::nullopt;
  if (!channels || !channels->is_constant())
    return Choice::refuse("pool: the number of channels is not known");
  const bool global = c.node.attr_int("global", 0) != 0;
  const std::vector<int64_t> kernel =
      global ? std::vector<int64_t>{1, 1} : c.node.attr_ints("kernel_shape");
  args.type = pool_type(c.type(0).type);
  auto window = window_of(c.node, kernel, channels->value(), channels->value());
  if (!window.ok()) return Choice::refuse(window.error().message());
  args.count_padding = c.node.attr_int("count_include_pad", 0) != 0 ? kernels::CountPadding::kYes
                                                                    : kernels::CountPadding::kNo;
  auto bind = [args, global, isa = c.isa, window = *std::move(window)](
                  std::span<const Operand> in, std::span<const Operand> out) {
    kernels::PoolArgs bound = args;
    bound.shape = window.on(in[0], out[0]);
    if (global) {
      bound.shape.kernel_h = bound.shape.in_h;
      bound.shape.kernel_w = bound.shape.in_w;
    }
    const int64_t sizes[] = {bound.shape.in_h, bound.shape.in_w};
    const std::vector<int64_t> pads = resolve_pads(window.attrs, sizes);
    bound.padded_h = sizes[0] + pads[2];
    bound.padded_w = sizes[1] + pads[3];
    return call_step([bound, isa, x = in[0].id, y = out[0].id](Slots slots, ParallelFor& parallel) {
      kernels::PoolArgs a = bound;
      a.x = at<const void>(slots, x);
      a.y = at<void>(slots, y);
      kernels::run_pool(a, isa, parallel);
    });
  };
  const char* name = args.op == kernels::PoolOp::kMax ? "max_pool" : "average_pool";
  return {bind_with(std::move(bind)), fmt::format("{} {}", name, isa_name(c.isa)), {}};
}

} // namespace

Choice prepare_max_pool(const PrepareContext& c) {
  return prepare_pool(c, {.op = kernels::PoolOp::kMax});
}

Choice prepare_average_pool(const PrepareContext& c) {
  return prepare_pool(c, {.op = kernels::PoolOp::kAverage});
}

Choice prepare_qaverage_pool(const PrepareContext& c) {
  const auto number = [&](const char* key, int64_t otherwise) {
    return static_cast<int32_t>(c.node.attr_int(key, otherwise));
  };
  kernels::PoolArgs args;
  args.op = kernels::PoolOp::kAverage;
  args.x_scale = static_cast<double>(c.node.attr_float("x_scale", 1.0F));
  args.y_scale = static_cast<double>(c.node.attr_float("y_scale", 1.0F));
  args.x_zero_point = number("x_zero_point", 0);
  args.zero_point = number("y_zero_point", 0);
  args.y_signed = number("to", 3) == 3;
  args.lo = number("lo", args.y_signed ? -128 : 0);
  args.hi = number("hi", args.y_signed ? 127 : 255);
  return prepare_pool(c, args);
}

} // namespace octet::runtime

// SPDX-License-Identifier: Apache-2.0
// octet.native QConv on the int8 convolution.
#include "core/format.h"
#include "core/threads.h"
#include "runtime/kernels/iconv.h"
#include "runtime/steps/call.h"
#include "runtime/steps/codes.h"
#include "runtime/steps/image.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

struct QConvState {
  kernels::PackedConv weights;
  std::vector<kernels::IgemmColumns> columns;
  kernels::Epilogue epilogue;
  int32_t x_zero_point = 0;
};

} // namespace

Choice prepare_qconv(const PrepareContext& c) {
  const Tensor* w = c.constant(1);
  const Tensor* multiplier = c.constant(2);
  if (!w || !multiplier) return Choice::refuse("iconv: the weights are not constant");
  const Tensor codes = w->aligned(), m = multiplier->aligned();
  const int64_t group = c.node.attr_int("group", 1);
  const int64_t kernel[] = {codes.dim(1), codes.dim(2)};
  const kernels::ConvShape shape = window_of(c.node, kernel, codes.dim(3) * group, codes.dim(0));
  if (shape.k() > kernels::kMaxK)
    return Choice::refuse(
        fmt::format("iconv: sums over {} terms, the limit is {}", shape.k(), kernels::kMaxK));
  Tensor bias;
  if (c.node.input(3).valid()) {
    if (!c.constant(3)) return Choice::refuse("iconv: the bias is not constant");
    bias = c.constant(3)->aligned();
  }
  auto state = std::make_shared<QConvState>();
  state->x_zero_point = static_cast<int32_t>(c.node.attr_int("x_zero_point", 0));
  state->weights =
      kernels::pack_conv(codes.data<int8_t>().data(), shape, read_range_of(c.graph, c.node), c.isa);
  state->columns = kernels::make_conv_columns(
      state->weights, state->x_zero_point,
      bias.type() == DType::kInt32 ? bias.data<int32_t>().data() : nullptr, m.data<float>().data(),
      m.count(), bias.type() == DType::kFloat32 ? bias.data<float>().data() : nullptr);
  state->epilogue =
      epilogue_of(c.node, c.node.input(4).valid() ? c.type(4).type : DType::kUndefined);
  auto bind = [state, shape](std::span<const Operand> in, std::span<const Operand> out) {
    kernels::IconvArgs args;
    args.shape = with_images(shape, in[0], out[0]);
    args.x_zero_point = state->x_zero_point;
    args.w = &state->weights;
    args.columns = state->columns.data();
    args.epilogue = state->epilogue;
    const int32_t x = in[0].id, y = out[0].id;
    const int32_t residual = in.size() > 4 ? in[4].id : -1;
    if (residual >= 0) args.epilogue.residual_stride = shape.out_c;
    const auto run = [state, args, x, y, residual](Slots slots, std::byte* shared,
                                                   ParallelFor& parallel) {
      kernels::IconvArgs a = args;
      a.shared = shared;
      a.x = at<const void>(slots, x);
      a.y = at<void>(slots, y);
      if (residual >= 0) a.epilogue.residual = at<const void>(slots, residual);
      kernels::iconv(a, parallel);
    };
    return call_step(kernels::shared_bytes(args), run);
  };
  return {bind_with(std::move(bind)), fmt::format("iconv {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime

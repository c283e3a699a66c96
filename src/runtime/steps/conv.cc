// SPDX-License-Identifier: Apache-2.0
// octet.native Conv on the float convolution.
#include "core/format.h"
#include "core/threads.h"
#include "runtime/kernels/fconv.h"
#include "runtime/steps/call.h"
#include "runtime/steps/image.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

struct ConvState {
  kernels::PackedFloatConv weights;
  Tensor bias;
  kernels::FloatEpilogue epilogue;
};

} // namespace

Choice prepare_conv(const PrepareContext& c) {
  const Tensor* w = c.constant(1);
  if (!w || w->count() == 0) return Choice::refuse("fconv: the weights are not constant");
  auto state = std::make_shared<ConvState>();
  if (c.node.input(2).valid()) {
    if (!c.constant(2)) return Choice::refuse("fconv: the bias is not constant");
    state->bias = c.constant(2)->aligned();
  }
  const Tensor values = w->aligned();
  const int64_t kernel[] = {values.dim(1), values.dim(2)};
  const kernels::ConvShape shape =
      window_of(c.node, kernel, values.dim(3) * c.node.attr_int("group", 1), values.dim(0));
  state->weights = kernels::pack_float_conv(values.data<float>().data(), shape, c.isa);
  state->epilogue = float_epilogue_of(c.node, state->bias);
  auto bind = [state, shape](std::span<const Operand> in, std::span<const Operand> out) {
    kernels::FconvArgs args;
    args.shape = with_images(shape, in[0], out[0]);
    args.w = &state->weights;
    args.epilogue = state->epilogue;
    return call_step(
        [state, args, x = in[0].id, y = out[0].id](Slots slots, ParallelFor& parallel) {
          kernels::FconvArgs a = args;
          a.x = at<const float>(slots, x);
          a.y = at<float>(slots, y);
          kernels::fconv(a, parallel);
        });
  };
  return {bind_with(std::move(bind)), fmt::format("fconv {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime

// SPDX-License-Identifier: Apache-2.0
// octet.native Conv on the float convolution.
#include "core/format.h"
#include "core/threads.h"
#include "runtime/kernels/fconv.h"
#include "runtime/packs.h"
#include "runtime/steps/image.h"
#include "runtime/steps/product.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

struct ConvState {
  ImageWindow window;
  std::shared_ptr<const kernels::PackedFloatConv> weights;
  Tensor bias;
  kernels::FloatEpilogue epilogue;
};

} // namespace

Choice prepare_conv(const PrepareContext& c) {
  const auto weights = constant_weights(c, "fconv");
  const auto bias = constant_bias(c, 2, "fconv");
  for (const auto* operand : {&weights, &bias})
    if (!operand->ok()) return Choice::refuse(operand->error().message());
  auto state = std::make_shared<ConvState>();
  state->bias = *bias;
  const int64_t kernel[] = {weights->dim(1), weights->dim(2)};
  auto window =
      window_of(c.node, kernel, weights->dim(3) * c.node.attr_int("group", 1), weights->dim(0));
  if (!window.ok()) return Choice::refuse(window.error().message());
  state->window = *std::move(window);
  state->weights = packed(c, 1, "fconv", WindowForm{state->window.shape}, [&] {
    return kernels::pack_float_conv(weights->data<float>().data(), state->window.shape, c.isa);
  });
  state->epilogue = float_epilogue_of(c.node, state->bias);
  auto bind = [state](std::span<const Operand> in, std::span<const Operand> out) {
    kernels::FconvArgs args;
    args.shape = state->window.on(in[0], out[0]);
    args.w = state->weights.get();
    args.epilogue = state->epilogue;
    return call_step(
        [state, args, x = in[0].id, y = out[0].id](Slots slots, ParallelFor& parallel) {
          kernels::FconvArgs a = args;
          a.x = at<const float>(slots, x);
          a.y = at<float>(slots, y);
          kernels::fconv(a, parallel);
        });
  };
  return {.prepared = bind_with(std::move(bind)),
          .name = fmt::format("fconv {}", isa_name(c.isa)),
          .packed = {1}};
}

} // namespace octet::runtime

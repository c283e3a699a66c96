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
  WindowOperands operands;
  std::shared_ptr<const kernels::PackedFloatConv> weights; ///< null: packed at each run
  kernels::FloatEpilogue epilogue;
};

/// Runs with the operands where they lie in the slots.
void run_conv(const ConvState& state,
              kernels::FconvArgs args,
              std::span<const Operand> in,
              Isa isa,
              Slots slots,
              ParallelFor& parallel) {
  args.x = at<const float>(slots, in[0].id);
  state.operands.set_bias(in, slots, args.epilogue);
  if (state.weights) return kernels::fconv(args, parallel);
  const kernels::PackedFloatConv weights =
      kernels::pack_float_conv(at<const float>(slots, in[1].id), state.window.shape, isa);
  args.w = &weights;
  kernels::fconv(args, parallel);
}

} // namespace

Choice prepare_conv(const PrepareContext& c) {
  auto operands = window_operands(c, "fconv");
  if (!operands.ok()) return Choice::refuse(operands.error().message());
  auto state = std::make_shared<ConvState>();
  state->operands = *std::move(operands);
  const Shape& w = state->operands.shape;
  const int64_t kernel[] = {w[1], w[2]};
  auto window = window_of(c.node, kernel, w[3] * c.node.attr_int("group", 1), w[0]);
  if (!window.ok()) return Choice::refuse(window.error().message());
  state->window = *std::move(window);
  const bool made = state->operands.made_weights();
  if (!made)
    state->weights = packed(c, 1, "fconv", WindowForm{state->window.shape}, [&] {
      return kernels::pack_float_conv(state->operands.weights.data<float>().data(),
                                      state->window.shape, c.isa);
    });
  state->epilogue = float_epilogue_of(c.node, state->operands.bias);
  auto bind = [state, isa = c.isa](std::span<const Operand> in, std::span<const Operand> out) {
    kernels::FconvArgs args;
    args.shape = state->window.on(in[0], out[0]);
    args.w = state->weights.get();
    args.epilogue = state->epilogue;
    return call_step([state, args, isa, operands = std::vector(in.begin(), in.end()),
                      y = out[0].id](Slots slots, ParallelFor& parallel) {
      kernels::FconvArgs a = args;
      a.y = at<float>(slots, y);
      run_conv(*state, a, operands, isa, slots, parallel);
    });
  };
  return {.prepared = bind_with(std::move(bind)),
          .name = fmt::format("fconv {}", isa_name(c.isa)),
          .packed = made ? std::vector<size_t>{} : std::vector<size_t>{1}};
}

} // namespace octet::runtime

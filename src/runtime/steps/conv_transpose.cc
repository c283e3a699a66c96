// SPDX-License-Identifier: Apache-2.0
// octet.native ConvTranspose on the transposed convolution.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "core/threads.h"
#include "ops/shared/transposed_window.h"
#include "runtime/kernels/transposed_conv.h"
#include "runtime/packs.h"
#include "runtime/steps/image.h"
#include "runtime/steps/product.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

// Each phase packs weights of its own, which are mostly none beyond.
constexpr int64_t kMostPhases = 4096;

struct TransposedState {
  TransposedWindow window;
  std::shared_ptr<const kernels::PackedTransposedConv> weights;
  Tensor bias;
  kernels::FloatEpilogue epilogue;
};

/// The window of a node; sizes of the images are left at 1, pads at 0.
kernels::ConvShape shape_of(const TransposedWindow& window, const Tensor& w) {
  kernels::ConvShape s;
  s.out_c = w.dim(0);
  s.kernel_h = w.dim(1);
  s.kernel_w = w.dim(2);
  s.in_c = w.dim(3) * window.group;
  s.groups = window.group;
  s.stride_h = window.window.strides[0];
  s.stride_w = window.window.strides[1];
  s.dilation_h = window.window.dilations[0];
  s.dilation_w = window.window.dilations[1];
  return s;
}

} // namespace

Choice prepare_conv_transpose(const PrepareContext& c) {
  const auto weights = constant_weights(c, "transposed conv");
  const auto bias = constant_bias(c, 2, "transposed conv");
  for (const auto* operand : {&weights, &bias})
    if (!operand->ok()) return Choice::refuse(operand->error().message());
  const auto w = weights->data<float>();
  if (!std::all_of(w.begin(), w.end(), [](float v) { return std::isfinite(v); }))
    return Choice::refuse("transposed conv: the weights are not all finite");
  auto window = parse_transposed(c.node, {weights->dim(1), weights->dim(2)});
  if (!window.ok()) return Choice::refuse(window.error().message());
  const int64_t phases = window->window.strides[0] * window->window.strides[1];
  if (phases > kMostPhases)
    return Choice::refuse(
        fmt::format("transposed conv: strides of {} phases, the limit is {}", phases, kMostPhases));
  auto state = std::make_shared<TransposedState>();
  state->window = *std::move(window);
  state->bias = *bias;
  const kernels::ConvShape shape = shape_of(state->window, *weights);
  state->weights = packed(c, 1, "transposed conv", WindowForm{shape},
                          [&] { return kernels::pack_transposed_conv(w.data(), shape, c.isa); });
  state->epilogue = float_epilogue_of(c.node, state->bias);
  auto bind = [state](std::span<const Operand> in, std::span<const Operand> out) {
    kernels::TransposedConvArgs args;
    args.shape = state->weights->shape;
    args.shape.batch = in[0].shape[0];
    args.shape.in_h = in[0].shape[1];
    args.shape.in_w = in[0].shape[2];
    args.shape.out_h = out[0].shape[1];
    args.shape.out_w = out[0].shape[2];
    args.shape.pad_top = transposed_extent(state->window, 0, args.shape.in_h).pad;
    args.shape.pad_left = transposed_extent(state->window, 1, args.shape.in_w).pad;
    args.w = state->weights.get();
    args.epilogue = state->epilogue;
    return call_step(
        [state, args, x = in[0].id, y = out[0].id](Slots slots, ParallelFor& parallel) {
          kernels::TransposedConvArgs a = args;
          a.x = at<const float>(slots, x);
          a.y = at<float>(slots, y);
          kernels::transposed_conv(a, parallel);
        });
  };
  return {.prepared = bind_with(std::move(bind)),
          .name = fmt::format("transposed conv {}", isa_name(c.isa)),
          .packed = {1}};
}

} // namespace octet::runtime

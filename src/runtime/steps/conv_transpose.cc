// SPDX-License-Identifier: Apache-2.0
// octet.native ConvTranspose on the transposed convolution.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/format.h"
#include "core/threads.h"
#include "ops/op.h"
#include "ops/shared/transposed_window.h"
#include "runtime/kernels/transposed_conv.h"
#include "runtime/packs.h"
#include "runtime/slot.h"
#include "runtime/steps/image.h"
#include "runtime/steps/product.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

// Each phase packs weights of its own, which are mostly none beyond.
constexpr int64_t kMostPhases = 4096;

struct TransposedState {
  TransposedWindow window;
  WindowOperands operands;
  kernels::ConvShape shape;                                     ///< for images of one pixel
  std::shared_ptr<const kernels::PackedTransposedConv> weights; ///< null: packed at each run
  kernels::FloatEpilogue epilogue;
  Node node; ///< of computed weights
};

/// The window of a node; sizes of the images are left at 1, pads at 0.
kernels::ConvShape shape_of(const TransposedWindow& window, const Shape& w) {
  kernels::ConvShape s;
  s.out_c = w[0];
  s.kernel_h = w[1];
  s.kernel_w = w[2];
  s.in_c = w[3] * window.group;
  s.groups = window.group;
  s.stride_h = window.window.strides[0];
  s.stride_w = window.window.strides[1];
  s.dilation_h = window.window.dilations[0];
  s.dilation_w = window.window.dilations[1];
  return s;
}

bool all_finite(std::span<const float> w) {
  return std::all_of(w.begin(), w.end(), [](float v) { return std::isfinite(v); });
}

/// A convolution bound to sizes.
class TransposedStep final : public Step {
 public:
  TransposedStep(std::shared_ptr<const TransposedState> state,
                 kernels::TransposedConvArgs args,
                 Isa isa,
                 std::span<const Operand> in,
                 const Operand& out)
      : state_(std::move(state)), args_(args), isa_(isa), in_(in.begin(), in.end()), out_(out) {}

  Result<StepEnd> run(Slots slots, std::byte* /*shared*/, ParallelFor& parallel) const override {
    kernels::TransposedConvArgs args = args_;
    args.x = at<const float>(slots, in_[0].id);
    args.y = at<float>(slots, out_.id);
    state_->operands.set_bias(in_, slots, args.epilogue);
    if (state_->weights) {
      kernels::transposed_conv(args, parallel);
      return StepEnd::kDone;
    }
    const auto* w = at<const float>(slots, in_[1].id);
    const auto count = static_cast<size_t>(element_count(state_->operands.shape).value());
    if (!all_finite({w, count})) return run_by_definition(slots);
    const auto weights = kernels::pack_transposed_conv(w, state_->shape, isa_);
    args.w = &weights;
    kernels::transposed_conv(args, parallel);
    return StepEnd::kDone;
  }

 private:
  /// The kernel multiplies what lies outside the image by its weights, 0 by an infinity too.
  Result<StepEnd> run_by_definition(Slots slots) const {
    EvalContext context{
        .node = state_->node, .version = 1, .inputs = {}, .run_body = {}, .seed = 0};
    for (const Operand& operand : in_)
      context.inputs.push_back(operand.present() ? OCTET_TRY(tensor_at(operand, slots)) : Tensor());
    const OpDef* op = find_op(state_->node.domain, state_->node.op_type);
    const std::vector<Tensor> y = OCTET_TRY(op->eval.fn(context));
    const auto from = y[0].bytes();
    std::memcpy(slots[static_cast<size_t>(out_.id)], from.data(), from.size());
    return StepEnd::kDone;
  }

  std::shared_ptr<const TransposedState> state_;
  kernels::TransposedConvArgs args_;
  Isa isa_;
  std::vector<Operand> in_;
  Operand out_;
};

} // namespace

Choice prepare_conv_transpose(const PrepareContext& c) {
  auto operands = window_operands(c, "transposed conv");
  if (!operands.ok()) return Choice::refuse(operands.error().message());
  const bool made = operands->made_weights();
  if (!made && !all_finite(operands->weights.data<float>()))
    return Choice::refuse("transposed conv: the weights are not all finite");
  const Shape& w = operands->shape;
  auto window = parse_transposed(c.node, {w[1], w[2]});
  if (!window.ok()) return Choice::refuse(window.error().message());
  const int64_t phases = window->window.strides[0] * window->window.strides[1];
  if (phases > kMostPhases)
    return Choice::refuse(
        fmt::format("transposed conv: strides of {} phases, the limit is {}", phases, kMostPhases));
  auto state = std::make_shared<TransposedState>();
  state->window = *std::move(window);
  state->shape = shape_of(state->window, w);
  state->operands = *std::move(operands);
  if (made)
    state->node = c.node;
  else
    state->weights = packed(c, 1, "transposed conv", WindowForm{state->shape}, [&] {
      return kernels::pack_transposed_conv(state->operands.weights.data<float>().data(),
                                           state->shape, c.isa);
    });
  state->epilogue = float_epilogue_of(c.node, state->operands.bias);
  auto bind = [state, isa = c.isa](std::span<const Operand> in,
                                   std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    kernels::TransposedConvArgs args;
    args.shape = state->shape;
    args.shape.batch = in[0].shape[0];
    args.shape.in_h = in[0].shape[1];
    args.shape.in_w = in[0].shape[2];
    args.shape.out_h = out[0].shape[1];
    args.shape.out_w = out[0].shape[2];
    args.shape.pad_top = transposed_extent(state->window, 0, args.shape.in_h).pad;
    args.shape.pad_left = transposed_extent(state->window, 1, args.shape.in_w).pad;
    args.w = state->weights.get();
    args.epilogue = state->epilogue;
    return std::unique_ptr<Step>(std::make_unique<TransposedStep>(state, args, isa, in, out[0]));
  };
  return {.prepared = bind_with(std::move(bind)),
          .name = fmt::format("transposed conv {}", isa_name(c.isa)),
          .packed = made ? std::vector<size_t>{} : std::vector<size_t>{1}};
}

} // namespace octet::runtime

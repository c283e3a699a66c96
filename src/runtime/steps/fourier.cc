// SPDX-License-Identifier: Apache-2.0
// DFT and STFT of f32: a line of the former lies along its axis, one of the latter is a frame.
#include "runtime/kernels/fourier.h"

#include "core/threads.h"
#include "ops/shared/movement.h"
#include "ops/shared/types.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

Result<std::unique_ptr<Step>> fourier_step(const FourierLayout& layout,
                                           const Operand& x,
                                           const Operand* window,
                                           const Operand& y,
                                           Isa isa) {
  return call_step([plan = make_fourier(layout), layout, x = x.id, y = y.id,
                    window = window == nullptr ? -1 : window->id,
                    isa](Slots slots, ParallelFor& parallel) {
    FourierLines<float> lines{layout, at<const float>(slots, x), at<float>(slots, y)};
    if (window >= 0) lines.window = at<const float>(slots, window);
    kernels::fourier(plan, lines, isa, parallel);
  });
}

/// The input's number, nothing where it is left out.
Result<std::optional<int64_t>> known_int(std::span<const Operand> in, size_t i) {
  if (i >= in.size() || !in[i].present()) return std::optional<int64_t>();
  const std::vector<int64_t> values = OCTET_TRY(in[i].known->to_ints());
  return std::optional(values[0]);
}

} // namespace

Choice prepare_dft(const PrepareContext& c) {
  if (c.type(0).type != DType::kFloat32) return Choice::refuse("fourier: not f32");
  if (!c.known(1) || !c.known(2))
    return Choice::refuse("fourier: the length or the axis depends on data");
  auto bind = [node = c.node, opset = c.graph.opset(),
               isa = c.isa](std::span<const Operand> in,
                            std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    const std::optional<int64_t> length = OCTET_TRY(known_int(in, 1));
    const std::optional<int64_t> given = OCTET_TRY(known_int(in, 2));
    const int64_t axis =
        OCTET_TRY(normalize_axis(dft_axis(node, opset, given), std::ssize(in[0].shape)));
    return fourier_step(dft_layout(node, in[0].shape, out[0].shape, axis, length), in[0], nullptr,
                        out[0], isa);
  };
  return {bind_with(std::move(bind)), fmt::format("fourier {}", isa_name(c.isa)), {}};
}

Choice prepare_stft(const PrepareContext& c) {
  if (c.type(0).type != DType::kFloat32) return Choice::refuse("fourier: not f32");
  if (!c.known(1) || !c.known(3))
    return Choice::refuse("fourier: the step or the length depends on data");
  auto bind = [isa = c.isa](std::span<const Operand> in,
                            std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    const std::optional<int64_t> step = OCTET_TRY(known_int(in, 1));
    const std::optional<int64_t> length = OCTET_TRY(known_int(in, 3));
    const Operand* window = in.size() > 2 && in[2].present() ? &in[2] : nullptr;
    return fourier_step(
        stft_layout(in[0].shape, out[0].shape, *step, length ? *length : window->shape[0]), in[0],
        window, out[0], isa);
  };
  return {bind_with(std::move(bind)), fmt::format("fourier {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime

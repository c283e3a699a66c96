// SPDX-License-Identifier: Apache-2.0
// octet.native Softmax and LayerNormalization over the last axis.
#include "runtime/kernels/rows.h"

#include "core/format.h"
#include "core/threads.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

int64_t last(const Operand& o) {
  return o.shape.empty() ? 1 : o.shape.back();
}

} // namespace

Choice prepare_softmax(const PrepareContext& c) {
  auto bind = [isa = c.isa](std::span<const Operand> in, std::span<const Operand> out) {
    const int64_t length = last(in[0]);
    const int64_t rows = length ? in[0].count() / length : 0;
    return call_step([isa, rows, length, x = in[0].id, y = out[0].id](Slots slots,
                                                                      ParallelFor& parallel) {
      kernels::softmax(at<const float>(slots, x), rows, length, at<float>(slots, y), isa, parallel);
    });
  };
  return {bind_with(std::move(bind)), fmt::format("softmax {}", isa_name(c.isa)), {}};
}

Choice prepare_layer_norm(const PrepareContext& c) {
  const float epsilon = c.node.attr_float("epsilon", 1e-5F);
  auto bind = [epsilon, isa = c.isa](std::span<const Operand> in, std::span<const Operand> out) {
    kernels::LayerNormArgs args;
    args.length = last(in[0]);
    args.rows = args.length ? in[0].count() / args.length : 0;
    args.epsilon = epsilon;
    const int32_t bias = in.size() > 2 ? in[2].id : -1;
    return call_step([args, isa, bias, x = in[0].id, gain = in[1].id,
                      y = out[0].id](Slots slots, ParallelFor& parallel) {
      kernels::LayerNormArgs a = args;
      a.x = at<const float>(slots, x);
      a.gain = at<const float>(slots, gain);
      if (bias >= 0) a.bias = at<const float>(slots, bias);
      a.y = at<float>(slots, y);
      kernels::layer_norm(a, isa, parallel);
    });
  };
  return {bind_with(std::move(bind)), fmt::format("layer_norm {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime

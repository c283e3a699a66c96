// SPDX-License-Identifier: Apache-2.0
// octet.native Gemm on the float matrix product.
#include <limits>

#include "core/format.h"
#include "core/threads.h"
#include "runtime/kernels/sgemm.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

struct GemmState {
  kernels::PackedFloat weights;
  Tensor bias;
  kernels::FloatEpilogue epilogue;
};

} // namespace

kernels::FloatEpilogue float_epilogue_of(const Node& node, const Tensor& bias) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  kernels::FloatEpilogue e;
  if (!bias.empty()) e.bias = bias.data<float>().data();
  e.lo = node.attr_float("min", -kInfinity);
  e.hi = node.attr_float("max", kInfinity);
  return e;
}

Choice prepare_gemm(const PrepareContext& c) {
  const Tensor* w = c.constant(1);
  if (!w || w->count() == 0) return Choice::refuse("sgemm: the weights are not constant");
  auto state = std::make_shared<GemmState>();
  if (c.node.input(2).valid()) {
    if (!c.constant(2)) return Choice::refuse("sgemm: the bias is not constant");
    state->bias = c.constant(2)->aligned();
  }
  const Tensor values = w->aligned();
  const int64_t n = values.dim(0), k = values.dim(1);
  state->weights = kernels::pack_float(
      {.w = values.data<float>().data(), .k_stride = 1, .n_stride = k, .n = n, .k = k}, c.isa);
  state->epilogue = float_epilogue_of(c.node, state->bias);
  auto bind = [state, n, k](std::span<const Operand> in, std::span<const Operand> out) {
    kernels::SgemmArgs args;
    args.m = in[0].count() / k;
    args.x_stride = k;
    args.w = &state->weights;
    args.epilogue = state->epilogue;
    args.y_stride = n;
    return call_step(
        [state, args, x = in[0].id, y = out[0].id](Slots slots, ParallelFor& parallel) {
          kernels::SgemmArgs a = args;
          a.x = at<const float>(slots, x);
          a.y = at<float>(slots, y);
          kernels::sgemm(a, parallel);
        });
  };
  return {bind_with(std::move(bind)), fmt::format("sgemm {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime

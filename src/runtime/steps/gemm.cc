// SPDX-License-Identifier: Apache-2.0
// octet.native Gemm on the float matrix product.
#include "core/format.h"
#include "core/threads.h"
#include "runtime/kernels/sgemm.h"
#include "runtime/packs.h"
#include "runtime/steps/product.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

struct GemmState {
  std::shared_ptr<const kernels::PackedFloat> weights;
  Tensor bias;
  kernels::FloatEpilogue epilogue;
};

} // namespace

Choice prepare_gemm(const PrepareContext& c) {
  const auto weights = constant_weights(c, "sgemm");
  const auto bias = constant_bias(c, 2, "sgemm");
  for (const auto* operand : {&weights, &bias})
    if (!operand->ok()) return Choice::refuse(operand->error().message());
  auto state = std::make_shared<GemmState>();
  state->bias = *bias;
  const int64_t n = weights->dim(0), k = weights->dim(1);
  state->weights = packed(c, 1, "sgemm", ProductForm{n, k}, [&] {
    return kernels::pack_float(
        {.w = weights->data<float>().data(), .k_stride = 1, .n_stride = k, .n = n, .k = k}, c.isa);
  });
  state->epilogue = float_epilogue_of(c.node, state->bias);
  auto bind = [state, n, k](std::span<const Operand> in, std::span<const Operand> out) {
    kernels::SgemmArgs args;
    args.m = in[0].count() / k;
    args.x_stride = k;
    args.w = state->weights.get();
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
  return {.prepared = bind_with(std::move(bind)),
          .name = fmt::format("sgemm {}", isa_name(c.isa)),
          .packed = {1}};
}

} // namespace octet::runtime

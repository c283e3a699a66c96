// SPDX-License-Identifier: Apache-2.0
// octet.native QGemm on the int8 matrix product.
#include "core/format.h"
#include "core/threads.h"
#include "runtime/kernels/igemm.h"
#include "runtime/steps/call.h"
#include "runtime/steps/codes.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

struct QGemmState {
  kernels::PackedWeights weights;
  kernels::IgemmColumns columns;
  kernels::Epilogue epilogue;
};

} // namespace

Choice prepare_qgemm(const PrepareContext& c) {
  const Tensor* w = c.constant(1);
  const Tensor* multiplier = c.constant(2);
  if (!w || !multiplier) return Choice::refuse("igemm: the weights are not constant");
  const Tensor codes = w->aligned(), m = multiplier->aligned();
  if (codes.dim(1) > kernels::kMaxK)
    return Choice::refuse(
        fmt::format("igemm: sums over {} terms, the limit is {}", codes.dim(1), kernels::kMaxK));
  if (codes.count() == 0) return Choice::refuse("igemm: the weights are empty");
  Tensor bias;
  if (c.node.input(3).valid()) {
    if (!c.constant(3)) return Choice::refuse("igemm: the bias is not constant");
    bias = c.constant(3)->aligned();
  }
  auto state = std::make_shared<QGemmState>();
  state->weights =
      kernels::pack_weights(codes.data<int8_t>().data(), codes.dim(1), codes.dim(0), codes.dim(1),
                            code_range_of(c.graph, c.node.input(0)), c.isa);
  state->columns = kernels::make_columns(
      state->weights, static_cast<int32_t>(c.node.attr_int("x_zero_point", 0)),
      bias.type() == DType::kInt32 ? bias.data<int32_t>().data() : nullptr, m.data<float>().data(),
      m.count(), bias.type() == DType::kFloat32 ? bias.data<float>().data() : nullptr);
  state->epilogue =
      epilogue_of(c.node, c.node.input(4).valid() ? c.type(4).type : DType::kUndefined);
  auto bind = [state](std::span<const Operand> in, std::span<const Operand> out) {
    kernels::IgemmArgs args;
    args.m = in[0].count() / state->weights.k;
    args.x_stride = state->weights.k;
    args.w = &state->weights;
    args.columns = &state->columns;
    args.epilogue = state->epilogue;
    args.y_stride = state->weights.n;
    const int32_t x = in[0].id, y = out[0].id;
    const int32_t residual = in.size() > 4 ? in[4].id : -1;
    if (residual >= 0) args.epilogue.residual_stride = state->weights.n;
    const auto run = [state, args, x, y, residual](Slots slots, std::byte* shared,
                                                   ParallelFor& parallel) {
      kernels::IgemmArgs a = args;
      a.shared = shared;
      a.x = at<const void>(slots, x);
      a.y = at<void>(slots, y);
      if (residual >= 0) a.epilogue.residual = at<const void>(slots, residual);
      kernels::igemm(a, parallel);
    };
    return call_step(kernels::shared_bytes(args), run);
  };
  return {bind_with(std::move(bind)), fmt::format("igemm {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime

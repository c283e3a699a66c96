// SPDX-License-Identifier: Apache-2.0
// octet.native QDynamicGemm: rows are quantized by their own scales, then the int8 product gives
// float.
#include <limits>
#include <span>

#include "core/format.h"
#include "core/numerics/dynamic.h"
#include "core/threads.h"
#include "runtime/kernels/codes.h"
#include "runtime/kernels/igemm.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

struct DynamicState {
  kernels::PackedWeights weights;
  kernels::IgemmColumns columns;
  kernels::Epilogue epilogue;
  Isa isa = Isa::kScalar;
};

void quantize_row(const float* x, int64_t k, Isa isa, int8_t* codes, float* scale) {
  *scale = numerics::row_scale(std::span<const float>(x, static_cast<size_t>(k)));
  kernels::QuantizeArgs args;
  args.x = x;
  args.count = k;
  args.scale = *scale;
  args.y = codes;
  SerialFor inline_loop;
  kernels::quantize(args, isa, inline_loop);
}

} // namespace

Choice prepare_qdynamic_gemm(const PrepareContext& c) {
  const Tensor* w = c.constant(1);
  const Tensor* w_scale = c.constant(2);
  if (!w || !w_scale || w->count() == 0)
    return Choice::refuse("igemm: the weights are not constant");
  const Tensor codes = w->aligned(), m = w_scale->aligned();
  if (codes.dim(1) > kernels::kMaxK)
    return Choice::refuse(
        fmt::format("igemm: sums over {} terms, the limit is {}", codes.dim(1), kernels::kMaxK));
  Tensor bias;
  if (c.node.input(3).valid()) {
    if (!c.constant(3)) return Choice::refuse("igemm: the bias is not constant");
    bias = c.constant(3)->aligned();
  }
  auto state = std::make_shared<DynamicState>();
  state->isa = c.isa;
  state->weights = kernels::pack_weights(codes.data<int8_t>().data(), codes.dim(1), codes.dim(0),
                                         codes.dim(1), {}, c.isa);
  state->columns =
      kernels::make_columns(state->weights, 0, nullptr, m.data<float>().data(), m.count(),
                            bias.empty() ? nullptr : bias.data<float>().data());
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  state->epilogue.type = kernels::YType::kFloat;
  state->epilogue.float_lo = c.node.attr_float("min", -kInfinity);
  state->epilogue.float_hi = c.node.attr_float("max", kInfinity);
  auto bind = [state](std::span<const Operand> in, std::span<const Operand> out) {
    const int64_t k = state->weights.k, rows = in[0].count() / k;
    kernels::IgemmArgs args;
    args.m = rows;
    args.x_stride = k;
    args.w = &state->weights;
    args.columns = &state->columns;
    args.epilogue = state->epilogue;
    args.y_stride = state->weights.n;
    // Codes and scales of the rows lie behind what the product itself shares.
    const auto codes_at = kernels::round_up(static_cast<int64_t>(kernels::shared_bytes(args)), 64);
    const int64_t scales_at = kernels::round_up(codes_at + rows * k, 64);
    const auto bytes = static_cast<size_t>(scales_at) + static_cast<size_t>(rows) * sizeof(float);
    const auto run = [state, args, k, codes_at, scales_at, x = in[0].id,
                      y = out[0].id](Slots slots, std::byte* shared, ParallelFor& parallel) {
      const float* from = at<const float>(slots, x);
      auto* q = reinterpret_cast<int8_t*>(shared + codes_at);
      auto* scales = reinterpret_cast<float*>(shared + scales_at);
      // About a nanosecond for each element of a row.
      parallel.run(args.m, grain_for(static_cast<double>(k)), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          quantize_row(from + i * k, k, state->isa, q + i * k, scales + i);
      });
      kernels::IgemmArgs a = args;
      a.shared = shared;
      a.x = q;
      a.epilogue.row_multiplier = scales;
      a.y = at<float>(slots, y);
      kernels::igemm(a, parallel);
    };
    return call_step(bytes, run);
  };
  return {bind_with(std::move(bind)), fmt::format("igemm {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime

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

/// Codes and scales of the rows, in memory of the step's own.
struct RowCodes {
  kernels::AlignedBuffer codes;
  kernels::AlignedBuffer scales;
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
    auto memory = std::make_shared<RowCodes>();
    memory->codes = kernels::AlignedBuffer(static_cast<size_t>(rows * k));
    memory->scales = kernels::AlignedBuffer(static_cast<size_t>(rows) * sizeof(float));
    return call_step(
        [state, memory, k, rows, x = in[0].id, y = out[0].id](Slots slots, ParallelFor& parallel) {
          const float* from = at<const float>(slots, x);
          auto* q = memory->codes.as<int8_t>();
          auto* scales = memory->scales.as<float>();
          // About a nanosecond for each element of a row.
          parallel.run(rows, grain_for(static_cast<double>(k)), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i)
              quantize_row(from + i * k, k, state->isa, q + i * k, scales + i);
          });
          kernels::IgemmArgs args;
          args.m = rows;
          args.x = q;
          args.x_stride = k;
          args.w = &state->weights;
          args.columns = &state->columns;
          args.epilogue = state->epilogue;
          args.epilogue.row_multiplier = scales;
          args.y = at<float>(slots, y);
          args.y_stride = state->weights.n;
          kernels::igemm(args, parallel);
        });
  };
  return {bind_with(std::move(bind)), fmt::format("igemm {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime

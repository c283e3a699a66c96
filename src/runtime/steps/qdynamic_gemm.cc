// SPDX-License-Identifier: Apache-2.0
// octet.native QDynamicGemm: rows are quantized by their own scales, then the int8 product gives
// float.
#include <span>

#include "core/format.h"
#include "core/numerics/dynamic.h"
#include "core/threads.h"
#include "runtime/kernels/codes.h"
#include "runtime/steps/product.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

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
  const auto operands = integer_operands(c, "igemm");
  if (!operands.ok()) return Choice::refuse(operands.error().message());
  auto gemm = std::make_shared<IntegerGemm>(pack_gemm(c, *operands, {}));
  gemm->epilogue.type = kernels::YType::kFloat;
  auto bind = [gemm, isa = c.isa](std::span<const Operand> in, std::span<const Operand> out) {
    const kernels::IgemmArgs args = gemm->args(in[0]);
    const int64_t k = gemm->weights.k, rows = args.m;
    // Codes and scales of the rows lie behind what the product itself shares.
    const auto codes_at = kernels::round_up(static_cast<int64_t>(kernels::shared_bytes(args)), 64);
    const int64_t scales_at = kernels::round_up(codes_at + rows * k, 64);
    const auto bytes = static_cast<size_t>(scales_at) + static_cast<size_t>(rows) * sizeof(float);
    const auto run = [gemm, args, isa, k, codes_at, scales_at, x = in[0].id,
                      y = out[0].id](Slots slots, std::byte* shared, ParallelFor& parallel) {
      const float* from = at<const float>(slots, x);
      auto* q = reinterpret_cast<int8_t*>(shared + codes_at);
      auto* scales = reinterpret_cast<float*>(shared + scales_at);
      // About a nanosecond for each element of a row.
      parallel.run(args.m, grain_for(static_cast<double>(k)), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          quantize_row(from + i * k, k, isa, q + i * k, scales + i);
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

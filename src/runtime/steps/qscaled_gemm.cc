// SPDX-License-Identifier: Apache-2.0
// octet.native QScaledGemm on the int8 matrix product: the scale and zero point of x are read when
// it runs.
#include <algorithm>

#include "core/format.h"
#include "core/threads.h"
#include "runtime/steps/codes.h"
#include "runtime/steps/product.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
Choice prepare_qscaled_gemm(const PrepareContext& c) {
  const auto weights = constant_codes(c, "igemm");
  if (!weights.ok()) return Choice::refuse(weights.error().message());
  const int64_t n = weights->dim(0);
  if (!c.constant(3)) return Choice::refuse("igemm: the scales of the weights are not constant");
  const auto bias = constant_bias(c, 4, "igemm");
  if (!bias.ok()) return Choice::refuse(bias.error().message());
  IntegerOperands operands{*weights, c.constant(3)->aligned(), *bias};
  const DType type = c.type(0).type;
  const bool is_signed = type == DType::kInt8;
  auto gemm = std::make_shared<IntegerGemm>(
      pack_gemm(c, operands, {is_signed, is_signed ? -128 : 0, is_signed ? 127 : 255}));
  gemm->epilogue.type = kernels::YType::kFloat;
  auto bind = [gemm, n, type](std::span<const Operand> in, std::span<const Operand> out) {
    const kernels::IgemmArgs args = gemm->args(in[0]);
    // The columns' constants of this run and the scale of each row lie behind what is shared.
    const auto init_at = kernels::round_up(static_cast<int64_t>(kernels::shared_bytes(args)), 64);
    const int64_t padded = kernels::round_up(n, kernels::kColumnsPerPanel);
    const int64_t scales_at = init_at + kernels::round_up(padded * 4, 64);
    const auto bytes = static_cast<size_t>(scales_at + args.m * 4);
    const int32_t zero = in.size() > 5 ? in[5].id : -1;
    const auto run = [gemm, args, type, init_at, scales_at, zero, x = in[0].id, scale = in[2].id,
                      y = out[0].id](Slots slots, std::byte* shared, ParallelFor& parallel) {
      kernels::IgemmColumns columns;
      columns.init = reinterpret_cast<int32_t*>(shared + init_at);
      columns.multiplier = gemm->columns.multiplier;
      columns.bias = gemm->columns.bias;
      kernels::fill_init(*gemm->weights, zero_point_at(slots, zero, type), nullptr, columns.init);
      auto* const scales = reinterpret_cast<float*>(shared + scales_at);
      std::fill_n(scales, args.m, *at<const float>(slots, scale));
      kernels::IgemmArgs a = args;
      a.columns = &columns;
      a.shared = shared;
      a.x = at<const void>(slots, x);
      a.epilogue.row_multiplier = scales;
      a.y = at<float>(slots, y);
      kernels::igemm(a, parallel);
    };
    return call_step(bytes, run);
  };
  return {.prepared = bind_with(std::move(bind)),
          .name = fmt::format("igemm {}", isa_name(c.isa)),
          .packed = {1}};
}

} // namespace octet::runtime

// SPDX-License-Identifier: Apache-2.0
// octet.native QDynamicGemm: rows are quantized by their own scales, then the int8 product gives
// float.
#include "core/format.h"
#include "core/threads.h"
#include "runtime/kernels/codes.h"
#include "runtime/steps/product.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {

Choice prepare_qdynamic_gemm(const PrepareContext& c) {
  const auto operands = integer_operands(c, "igemm");
  if (!operands.ok()) return Choice::refuse(operands.error().message());
  auto gemm = std::make_shared<IntegerGemm>(pack_gemm(c, *operands, {}));
  gemm->epilogue.type = kernels::YType::kFloat;
  auto bind = [gemm, isa = c.isa](std::span<const Operand> in, std::span<const Operand> out) {
    const kernels::IgemmArgs args = gemm->args(in[0]);
    const int64_t k = gemm->weights->k, count = args.m;
    // Codes and scales of the rows lie behind what the product itself shares.
    const auto codes_at = kernels::round_up(static_cast<int64_t>(kernels::shared_bytes(args)), 64);
    const int64_t scales_at = kernels::round_up(codes_at + count * k, 64);
    const auto bytes = static_cast<size_t>(scales_at) + static_cast<size_t>(count) * sizeof(float);
    const auto run = [gemm, args, isa, codes_at, scales_at, x = in[0].id,
                      y = out[0].id](Slots slots, std::byte* shared, ParallelFor& parallel) {
      kernels::QuantizeRowsArgs rows;
      rows.x = at<const float>(slots, x);
      rows.rows = args.m;
      rows.length = gemm->weights->k;
      rows.y = reinterpret_cast<int8_t*>(shared + codes_at);
      rows.scales = reinterpret_cast<float*>(shared + scales_at);
      kernels::quantize_rows(rows, isa, parallel);
      kernels::IgemmArgs a = args;
      a.shared = shared;
      a.x = rows.y;
      a.epilogue.row_multiplier = rows.scales;
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

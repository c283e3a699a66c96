// SPDX-License-Identifier: Apache-2.0
// octet.native MatMul and QMatMul: batched products of two activations.
#include "core/format.h"
#include "core/threads.h"
#include "ops/shared/matrix_product.h"
#include "runtime/kernels/qmatmul.h"
#include "runtime/kernels/sgemm.h"
#include "runtime/steps/call.h"
#include "runtime/steps/codes.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {

Choice prepare_matmul(const PrepareContext& c) {
  const bool turned = c.node.attr_int("trans_b", 0) != 0;
  auto bind = [turned, isa = c.isa](std::span<const Operand> in, std::span<const Operand> out) {
    Shape b_shape = in[1].shape;
    if (turned) std::swap(b_shape.back(), *(b_shape.end() - 2));
    auto sizes = std::make_shared<MatmulSizes>(matmul_sizes(in[0].shape, b_shape));
    kernels::BatchedSgemmArgs args;
    args.batch = static_cast<int64_t>(sizes->a_offsets.size());
    args.m = sizes->m;
    args.x_offsets = sizes->a_offsets.data();
    args.x_stride = sizes->k;
    args.weights = {.w = nullptr,
                    .k_stride = turned ? 1 : sizes->n,
                    .n_stride = turned ? sizes->k : 1,
                    .n = sizes->n,
                    .k = sizes->k};
    args.w_offsets = sizes->b_offsets.data();
    args.y_stride = sizes->n;
    args.isa = isa;
    auto y_offsets = std::make_shared<std::vector<int64_t>>();
    for (int64_t i = 0; i < args.batch; ++i)
      y_offsets->push_back(i * sizes->m * sizes->n);
    args.y_offsets = y_offsets->data();
    return call_step([args, sizes, y_offsets, a = in[0].id, b = in[1].id,
                      y = out[0].id](Slots slots, ParallelFor& parallel) {
      kernels::BatchedSgemmArgs bound = args;
      bound.x = at<const float>(slots, a);
      bound.weights.w = at<const float>(slots, b);
      bound.y = at<float>(slots, y);
      kernels::batched_sgemm(bound, parallel);
    });
  };
  return {bind_with(std::move(bind)), fmt::format("sgemm {}", isa_name(c.isa)), {}};
}

Choice prepare_qmatmul(const PrepareContext& c) {
  kernels::QmatmulArgs args;
  args.a_signed = c.type(0).type == DType::kInt8;
  args.b_signed = c.type(1).type == DType::kInt8;
  args.a_zero_point = static_cast<int32_t>(c.node.attr_int("a_zero_point", 0));
  args.b_zero_point = static_cast<int32_t>(c.node.attr_int("b_zero_point", 0));
  args.multiplier = c.node.attr_float("multiplier", 1.0F);
  args.epilogue = epilogue_of(c);
  args.isa = c.isa;
  auto bind = [args](std::span<const Operand> in,
                     std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    auto sizes = std::make_shared<MatmulSizes>(matmul_sizes(in[0].shape, in[1].shape));
    if (sizes->k > kernels::kMaxQmatmulK)
      return error(ErrorCode::kUnsupported,
                   "sums over {} products of codes, the limit is {}; "
                   "keep this product in float",
                   sizes->k, kernels::kMaxQmatmulK);
    kernels::QmatmulArgs bound = args;
    bound.batch = static_cast<int64_t>(sizes->a_offsets.size());
    bound.m = sizes->m;
    bound.n = sizes->n;
    bound.k = sizes->k;
    bound.a_offsets = sizes->a_offsets.data();
    bound.b_offsets = sizes->b_offsets.data();
    const auto run = [bound, sizes, a = in[0].id, b = in[1].id,
                      y = out[0].id](Slots slots, std::byte* shared, ParallelFor& parallel) {
      kernels::QmatmulArgs now = bound;
      now.shared = shared;
      now.a = at<const void>(slots, a);
      now.b = at<const void>(slots, b);
      now.y = at<void>(slots, y);
      kernels::qmatmul(now, parallel);
    };
    return call_step(kernels::shared_bytes(bound), run);
  };
  return {bind_with(std::move(bind)), fmt::format("qmatmul {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime

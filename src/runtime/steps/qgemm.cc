// SPDX-License-Identifier: Apache-2.0
// octet.native QGemm on the int8 matrix product.
#include "core/format.h"
#include "core/threads.h"
#include "runtime/kernels/igemm.h"
#include "runtime/steps/codes.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

class QGemmStep final : public Step {
 public:
  kernels::IgemmArgs args;
  size_t x = 0, y = 0;
  int32_t residual = -1;

  Status run(Slots slots, ParallelFor& parallel) const override {
    kernels::IgemmArgs a = args;
    a.x = slots[x];
    a.y = slots[y];
    if (residual >= 0) a.epilogue.residual = slots[static_cast<size_t>(residual)];
    kernels::igemm(a, parallel);
    return ok_status();
  }
};

class QGemmPrepared final : public Prepared {
 public:
  kernels::PackedWeights weights;
  kernels::IgemmColumns columns;
  kernels::Epilogue epilogue;

  Result<std::unique_ptr<Step>> bind(std::span<const Operand> in,
                                     std::span<const Operand> out) const override {
    auto step = std::make_unique<QGemmStep>();
    step->x = static_cast<size_t>(in[0].id);
    step->y = static_cast<size_t>(out[0].id);
    step->args.m = weights.k == 0 ? out[0].count() / weights.n : in[0].count() / weights.k;
    step->args.x_stride = weights.k;
    step->args.w = &weights;
    step->args.columns = &columns;
    step->args.epilogue = epilogue;
    step->args.y_stride = weights.n;
    if (in.size() > 4 && in[4].present()) {
      step->residual = in[4].id;
      step->args.epilogue.residual_stride = weights.n;
    }
    return std::unique_ptr<Step>(std::move(step));
  }
};

} // namespace

Choice prepare_qgemm(const PrepareContext& c) {
  const Tensor* w = c.constant(1);
  const Tensor* multiplier = c.constant(2);
  if (!w || !multiplier) return Choice::refuse("igemm: the weights are not constant");
  const Tensor codes = w->aligned(), m = multiplier->aligned();
  if (codes.rank() != 2 || codes.dim(1) > kernels::kMaxK)
    return Choice::refuse(fmt::format("igemm: sums over {} terms, the limit is {}",
                                      codes.shape().back(), kernels::kMaxK));
  Tensor bias;
  if (c.node.input(3).valid()) {
    if (!c.constant(3)) return Choice::refuse("igemm: the bias is not constant");
    bias = c.constant(3)->aligned();
  }
  auto prepared = std::make_unique<QGemmPrepared>();
  prepared->weights =
      kernels::pack_weights(codes.data<int8_t>().data(), codes.dim(1), codes.dim(0), codes.dim(1),
                            code_range_of(c.graph, c.node.input(0)), c.isa);
  const bool int_bias = bias.type() == DType::kInt32;
  const bool float_bias = bias.type() == DType::kFloat32;
  prepared->columns = kernels::make_columns(
      prepared->weights, static_cast<int32_t>(c.node.attr_int("x_zero_point", 0)),
      int_bias ? bias.data<int32_t>().data() : nullptr, m.data<float>().data(), m.count(),
      float_bias ? bias.data<float>().data() : nullptr);
  prepared->epilogue =
      epilogue_of(c.node, c.node.input(4).valid() ? c.type(4).type : DType::kUndefined);
  return {std::move(prepared), fmt::format("igemm {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime

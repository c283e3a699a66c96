// SPDX-License-Identifier: Apache-2.0
// octet.native CodedGemm on the product that decodes its weights.
#include "runtime/kernels/coded_gemm.h"

#include "core/format.h"
#include "core/threads.h"
#include "ops/native/coded_gemm.h"
#include "runtime/packs.h"
#include "runtime/steps/product.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

struct CodedGemmState {
  std::shared_ptr<const kernels::PackedCodes> weights;
  std::shared_ptr<const kernels::PackedFloat> scales, zeros;
  Tensor bias;
  kernels::FloatEpilogue epilogue;
  int64_t block = 1;
};

/// Constant input `input`, [n, blocks] numbers, as the weights of a product are packed.
std::shared_ptr<const kernels::PackedFloat>
pack_grid(const PrepareContext& c, size_t input, const char* packer) {
  const Shape& shape = c.constant(input)->shape();
  const int64_t n = shape[0], blocks = shape[1];
  return packed(c, input, packer, ProductForm{n, blocks}, [&] {
    const std::vector<float> numbers = c.constant(input)->to_floats().value();
    return kernels::pack_float(
        {.w = numbers.data(), .k_stride = 1, .n_stride = blocks, .n = n, .k = blocks}, c.isa);
  });
}

} // namespace

Choice prepare_coded_gemm(const PrepareContext& c) {
  const auto weights = constant_weights(c, "coded gemm");
  const auto bias = constant_bias(c, 4, "coded gemm");
  for (const auto* operand : {&weights, &bias})
    if (!operand->ok()) return Choice::refuse(operand->error().message());
  const bool has_zeros = c.node.input(3).valid();
  if (!c.constant(2) || (has_zeros && !c.constant(3)))
    return Choice::refuse("coded gemm: the scales or zero points are not constant");
  auto state = std::make_shared<CodedGemmState>();
  const int64_t n = weights->dim(0), k = weights->dim(1);
  const DType type = weights->type();
  state->bias = *bias;
  state->weights = packed(c, 1, "codes", CodesForm{n, k, type},
                          [&] { return kernels::pack_codes(weights->bytes(), type, n, k, c.isa); });
  state->scales = pack_grid(c, 2, "scales of codes");
  if (has_zeros) state->zeros = pack_grid(c, 3, "zero points of codes");
  state->epilogue = float_epilogue_of(c.node, state->bias);
  state->block = native::block_of(c.node, k);
  auto bind = [state, n, k](std::span<const Operand> in, std::span<const Operand> out) {
    kernels::CodedGemmArgs args;
    args.m = in[0].count() / k;
    args.x_stride = k;
    args.w = state->weights.get();
    args.block = state->block;
    args.scales = state->scales.get();
    args.zeros = state->zeros.get();
    args.epilogue = state->epilogue;
    args.y_stride = n;
    return call_step(
        [state, args, x = in[0].id, y = out[0].id](Slots slots, ParallelFor& parallel) {
          kernels::CodedGemmArgs a = args;
          a.x = at<const float>(slots, x);
          a.y = at<float>(slots, y);
          kernels::coded_gemm(a, parallel);
        });
  };
  Choice choice{.prepared = bind_with(std::move(bind)),
                .name = fmt::format("coded gemm {} {}", name(type), isa_name(c.isa)),
                .packed = {1, 2}};
  if (has_zeros) choice.packed.push_back(3);
  return choice;
}

} // namespace octet::runtime

// SPDX-License-Identifier: Apache-2.0
// ONNX's dynamic quantization: DynamicQuantizeLinear, and MatMulInteger with constant weights on
// the int8 product, whose zero point is known only when it runs.
#include "core/format.h"
#include "core/released.h"
#include "core/threads.h"
#include "runtime/kernels/codes.h"
#include "runtime/kernels/igemm.h"
#include "runtime/packs.h"
#include "runtime/steps/call.h"
#include "runtime/steps/codes.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

/// int8 codes [N, K] of weights [K, N] less their zero point; nullopt when int8 does not hold them.
std::optional<std::vector<int8_t>> turned_codes(const Tensor& w, const Tensor* zero) {
  int64_t shared = 0;
  if (zero) {
    const auto zeros = zero->to_ints();
    if (!zeros.ok() || zeros->empty()) return std::nullopt;
    shared = zeros->front();
    for (const int64_t z : *zeros)
      if (z != shared) return std::nullopt;
  }
  const auto values = w.to_ints();
  if (!values.ok()) return std::nullopt;
  const int64_t k = w.dim(0), n = w.dim(1);
  std::vector<int8_t> out(static_cast<size_t>(k * n));
  for (int64_t i = 0; i < k; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const int64_t v = (*values)[static_cast<size_t>(i * n + j)] - shared;
      if (v < -128 || v > 127) return std::nullopt;
      out[static_cast<size_t>(j * k + i)] = static_cast<int8_t>(v);
    }
  return out;
}

/// Of a bound step: the columns change from run to run.
struct IntegerProduct {
  kernels::IgemmColumns columns;
};

} // namespace

Choice prepare_dynamic_quantize(const PrepareContext& c) {
  auto bind = [isa = c.isa](std::span<const Operand> in, std::span<const Operand> out) {
    return call_step([isa, count = in[0].count(), x = in[0].id, y = out[0].id, scale = out[1].id,
                      zero = out[2].id](Slots slots, ParallelFor& parallel) {
      kernels::dynamic_quantize(at<const float>(slots, x), count, at<uint8_t>(slots, y),
                                at<float>(slots, scale), at<uint8_t>(slots, zero), isa, parallel);
    });
  };
  for (size_t k = 0; k < 3; ++k)
    if (!c.node.output(k).valid()) return Choice::refuse("quantize: an output is not used");
  return {bind_with(std::move(bind)), fmt::format("quantize {}", isa_name(c.isa)), {}};
}

Choice prepare_matmul_integer(const PrepareContext& c) {
  const Tensor* w = c.constant(1);
  if (!w || w->rank() != 2 || w->count() == 0)
    return Choice::refuse("igemm: the weights are not a constant matrix");
  const bool has_w_zero = c.node.input(3).valid(), has_zero = c.node.input(2).valid();
  if (has_w_zero && !c.constant(3))
    return Choice::refuse("igemm: the zero point of the weights is not constant");
  const bool one_zero =
      !has_zero || (c.type(2).static_shape() && element_count(*c.type(2).static_shape()).ok() &&
                    *element_count(*c.type(2).static_shape()) == 1);
  if (!one_zero) return Choice::refuse("igemm: a zero point for each row");
  // Those that a weight store has in their place did fit.
  const auto codes = is_released(*w) ? std::optional<std::vector<int8_t>>(std::in_place)
                                     : turned_codes(*w, has_w_zero ? c.constant(3) : nullptr);
  if (!codes) return Choice::refuse("igemm: the weights do not fit int8 around one zero point");
  const int64_t k = w->dim(0), n = w->dim(1);
  if (k > kernels::kMaxK)
    return Choice::refuse(
        fmt::format("igemm: sums over {} terms, the limit is {}", k, kernels::kMaxK));
  const DType type = c.type(0).type;
  const bool is_signed = type == DType::kInt8;
  const kernels::XRange range{is_signed, is_signed ? -128 : 0, is_signed ? 127 : 255};
  const std::string packer =
      fmt::format("igemm less {}", has_w_zero ? c.constant(3)->content_hash() : 0);
  const auto weights = packed(c, 1, packer, ProductForm{n, k, range}, [&] {
    return kernels::pack_weights(codes->data(), k, n, k, range, c.isa);
  });
  auto bind = [weights, type](std::span<const Operand> in, std::span<const Operand> out) {
    auto state = std::make_shared<IntegerProduct>();
    state->columns = kernels::make_columns(*weights, {});
    kernels::IgemmArgs args;
    args.m = in[0].count() / weights->k;
    args.x_stride = weights->k;
    args.w = weights.get();
    args.columns = &state->columns;
    args.epilogue.type = kernels::YType::kInt32;
    args.y_stride = weights->n;
    const int32_t zero = in.size() > 2 ? in[2].id : -1;
    const auto run = [args, weights, state, type, zero, x = in[0].id,
                      y = out[0].id](Slots slots, std::byte* shared, ParallelFor& parallel) {
      kernels::fill_init(*weights, zero_point_at(slots, zero, type), nullptr, state->columns.init);
      kernels::IgemmArgs a = args;
      a.shared = shared;
      a.x = at<const void>(slots, x);
      a.y = at<int32_t>(slots, y);
      kernels::igemm(a, parallel);
    };
    return call_step(kernels::shared_bytes(args), run);
  };
  return {.prepared = bind_with(std::move(bind)),
          .name = fmt::format("igemm {}", isa_name(c.isa)),
          .packed = {1}};
}

} // namespace octet::runtime

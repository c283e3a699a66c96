// SPDX-License-Identifier: Apache-2.0
// Fake quantization: one pass over the data forward, one backward, for f32 on the CPU; built from
// LibTorch operators for other types and devices.
#include "train/fake_quant.h"

#include <cmath>

#include "train/ops/mapping.h"
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/round.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

namespace octet::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// A tensor seen as [outer, channels, inner].
struct Layout {
  int64_t channels = 1, inner = 1, rows = 1; ///< rows = outer * channels

  Layout(const at::Tensor& x, const FakeQuant& spec) {
    inner = x.numel();
    if (spec.axis < 0) return;
    channels = x.size(spec.axis);
    inner = 1;
    for (int64_t i = spec.axis + 1; i < x.dim(); ++i)
      inner *= x.size(i);
    rows = x.numel() == 0 ? 0 : x.numel() / inner;
  }
  /// Calls fn(channel, begin, end) over ranges of elements that share a scale.
  template <class Fn>
  void for_each(int64_t numel, const Fn& fn) const {
    at::parallel_for(0, numel, 32768, [&](int64_t begin, int64_t end) {
      while (begin < end) {
        const int64_t row = begin / inner;
        const int64_t stop = std::min(end, (row + 1) * inner);
        fn(static_cast<size_t>(row % channels), begin, stop);
        begin = stop;
      }
    });
  }
};

constexpr float kRounder = 12582912.0F; // 1.5 * 2^23: adding and taking it away rounds half to even

/// rne(clamp(r)) for |bounds| below 2^22; NaN gives 0, and so does a result of -0.
inline float code(float r, float low, float high) {
  float c = r < low ? low : r;
  c = c > high ? high : c;
  c = c == c ? c : 0.0F;
  return (c + kRounder) - kRounder;
}
inline bool in_range(float r, float low, float high) {
  return r > low - 0.5F && r < high + 0.5F;
}

bool fused(const at::Tensor& x, const FakeQuant& spec) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && is_integer(spec.type);
}

at::Tensor
fused_forward(const at::Tensor& x, const at::Tensor& scale, const FakeQuant& spec, uint8_t* mask) {
  at::Tensor y = at::empty_like(x, at::MemoryFormat::Contiguous);
  const float* in = x.const_data_ptr<float>();
  const float* scales = scale.const_data_ptr<float>();
  float* out = y.mutable_data_ptr<float>();
  Layout(x, spec).for_each(x.numel(), [&](size_t channel, int64_t begin, int64_t end) {
    const float s = scales[channel], low = spec.low[channel], high = spec.high[channel];
    for (int64_t i = begin; i < end; ++i)
      out[i] = code(in[i] / s, low, high) * s;
    for (int64_t i = begin; mask != nullptr && i < end; ++i)
      mask[i] = in_range(in[i] / s, low, high);
  });
  return y;
}

/// Per-channel values in a shape that broadcasts against x.
at::Tensor broadcast(const at::Tensor& values, const at::Tensor& x, const FakeQuant& spec) {
  if (spec.axis < 0) return values.reshape({});
  std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
  shape[static_cast<size_t>(spec.axis)] = -1;
  return values.reshape(shape);
}
at::Tensor bound(const std::vector<float>& values, const at::Tensor& x, const FakeQuant& spec) {
  const at::Tensor t = at::from_blob(const_cast<float*>(values.data()),
                                     {static_cast<int64_t>(values.size())}, at::kFloat);
  return broadcast(t.to(x.device(), x.scalar_type(), false, true), x, spec);
}

at::Tensor
composed_code(const at::Tensor& r, const at::Tensor& low, const at::Tensor& high, DType type) {
  const at::Tensor c = at::minimum(at::maximum(r, low), high);
  if (is_integer(type)) return at::round(at::nan_to_num(c, 0)) + 0.0; // + 0.0 makes -0 positive
  return (c + 0.0).to(scalar_type(type)).to(r.scalar_type()); // the zero point is added: -0 is lost
}

struct StraightThrough : torch::autograd::Function<StraightThrough> {
  static at::Tensor forward(AutogradContext* ctx,
                            const at::Tensor& x,
                            const at::Tensor& scale,
                            const FakeQuant* spec) {
    if (fused(x, *spec)) {
      at::Tensor mask = at::empty(x.sizes(), at::kByte);
      at::Tensor y = fused_forward(x, scale, *spec, mask.mutable_data_ptr<uint8_t>());
      ctx->save_for_backward({mask});
      return y;
    }
    const at::Tensor s = broadcast(scale, x, *spec), r = x / s;
    const at::Tensor low = bound(spec->low, x, *spec), high = bound(spec->high, x, *spec);
    const double slack = is_integer(spec->type) ? 0.5 : 0.0;
    ctx->save_for_backward(
        {slack > 0 ? (r > low - slack) & (r < high + slack) : (r >= low) & (r <= high)});
    return composed_code(r, low, high, spec->type) * s;
  }
  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const at::Tensor mask = ctx->get_saved_variables()[0];
    const at::Tensor g = gradients[0].contiguous();
    if (!g.is_cpu() || g.scalar_type() != at::kFloat) return {g * mask, {}, {}};
    at::Tensor dx = at::empty_like(g);
    const float* in = g.const_data_ptr<float>();
    const auto* keep = static_cast<const uint8_t*>(mask.const_data_ptr());
    float* out = dx.mutable_data_ptr<float>();
    at::parallel_for(0, g.numel(), 32768, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        out[i] = keep[i] != 0 ? in[i] : 0.0F;
    });
    return {dx, {}, {}};
  }
};

struct LearnedStep : torch::autograd::Function<LearnedStep> {
  static at::Tensor forward(AutogradContext* ctx,
                            const at::Tensor& x,
                            const at::Tensor& scale,
                            const FakeQuant* spec) {
    ctx->save_for_backward({x, scale});
    ctx->saved_data["spec"] = reinterpret_cast<int64_t>(spec);
    if (fused(x, *spec)) return fused_forward(x, scale, *spec, nullptr);
    const at::Tensor s = broadcast(scale, x, *spec);
    return composed_code(x / s, bound(spec->low, x, *spec), bound(spec->high, x, *spec),
                         spec->type) *
           s;
  }
  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &scale = saved[1], g = gradients[0];
    const FakeQuant& spec = *reinterpret_cast<const FakeQuant*>(ctx->saved_data["spec"].toInt());
    const at::Tensor r = x / broadcast(scale, x, spec);
    const at::Tensor low = bound(spec.low, x, spec), high = bound(spec.high, x, spec);
    const at::Tensor below = r <= low - 0.5, above = r >= high + 0.5;
    at::Tensor ds =
        at::where(below, low, at::where(above, high, composed_code(r, low, high, spec.type) - r)) *
        g;
    std::vector<int64_t> axes;
    for (int64_t i = 0; i < x.dim(); ++i)
      if (i != spec.axis) axes.push_back(i);
    if (!axes.empty()) ds = ds.sum(axes);
    const double shared = static_cast<double>(x.numel()) / static_cast<double>(scale.numel());
    ds = ds / std::sqrt(shared * std::abs(static_cast<double>(spec.high[0])));
    return {g.masked_fill(below | above, 0), ds.reshape(scale.sizes()), {}};
  }
};

} // namespace

bool can_fake_quantize(DType type) {
  return (is_integer(type) && bits(type) <= 16) || type == DType::kFloat8E4M3FN ||
         type == DType::kFloat8E5M2;
}

std::pair<double, double> code_range(DType type) {
  if (type == DType::kFloat8E4M3FN) return {-448, 448};
  if (type == DType::kFloat8E5M2) return {-57344, 57344};
  const double span = std::ldexp(1.0, bits(type));
  return is_signed(type) ? std::pair(-span / 2, span / 2 - 1) : std::pair(0.0, span - 1);
}

at::Tensor fake_quantize(const at::Tensor& x, const at::Tensor& scale, const FakeQuant& spec) {
  TORCH_CHECK(scale.numel() == static_cast<int64_t>(spec.low.size()), "the scale has ",
              scale.numel(), " elements and the zero point ", spec.low.size());
  TORCH_CHECK(spec.axis < 0 ? scale.numel() == 1 : x.size(spec.axis) == scale.numel(),
              "the scale has ", scale.numel(), " elements, which does not fit axis ", spec.axis);
  const at::Tensor dense = x.contiguous(), factor = scale.contiguous();
  if (at::GradMode::is_enabled() && scale.requires_grad())
    return LearnedStep::apply(dense, factor, &spec);
  if (at::GradMode::is_enabled() && x.requires_grad())
    return StraightThrough::apply(dense, factor, &spec);
  if (fused(dense, spec)) return fused_forward(dense, factor, spec, nullptr);
  const at::Tensor s = broadcast(factor, x, spec);
  return composed_code(dense / s, bound(spec.low, x, spec), bound(spec.high, x, spec), spec.type) *
         s;
}

} // namespace octet::train

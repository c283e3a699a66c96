// SPDX-License-Identifier: Apache-2.0
#include "train/fp8/layer.h"

#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/custom_function.h>

namespace octet::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What undoes the factors of two casts: f32 after products in double.
at::Tensor undoing(const at::Tensor& a, const at::Tensor& b) {
  return (a.to(at::kDouble) * b.to(at::kDouble)).reciprocal().to(at::kFloat);
}

/// The casts of a forward product, kept for backward.
struct Operands {
  Fp8Cast x, w;
  const Fp8Layer* layer;

  static Operands cast(AutogradContext* ctx,
                       const Fp8Layer* layer,
                       const at::Tensor& x,
                       const at::Tensor& w,
                       bool record) {
    Operands o{layer->input(x, record), layer->weight(w, record), layer};
    ctx->save_for_backward({o.x.values, o.w.values, o.x.scale, o.w.scale});
    ctx->saved_data["layer"] = reinterpret_cast<int64_t>(layer);
    return o;
  }
  static Operands saved(AutogradContext* ctx) {
    const variable_list tensors = ctx->get_saved_variables();
    return {{tensors[0], tensors[2]},
            {tensors[1], tensors[3]},
            // NOLINTNEXTLINE(performance-no-int-to-ptr): `cast` put it there
            reinterpret_cast<const Fp8Layer*>(ctx->saved_data["layer"].toInt())};
  }
};

struct LinearInFp8 : torch::autograd::Function<LinearInFp8> {
  static at::Tensor forward(AutogradContext* ctx,
                            const at::Tensor& x,
                            const at::Tensor& w,
                            const Fp8Layer* layer,
                            bool record) {
    const Operands o = Operands::cast(ctx, layer, x, w, record);
    return at::mm(o.x.values, o.w.values).mul_(undoing(o.x.scale, o.w.scale));
  }
  static variable_list backward(AutogradContext* ctx, variable_list& gradients) {
    if (!gradients[0].defined()) return {{}, {}, {}, {}};
    const Operands o = Operands::saved(ctx);
    const Fp8Cast g = o.layer->gradient(gradients[0]);
    at::Tensor dx, dw;
    if (ctx->needs_input_grad(0))
      dx = at::mm(g.values, o.w.values.t()).mul_(undoing(g.scale, o.w.scale));
    if (ctx->needs_input_grad(1))
      dw = at::mm(o.x.values.t(), g.values).mul_(undoing(g.scale, o.x.scale));
    return {dx, dw, {}, {}};
  }
};

struct ConvolutionInFp8 : torch::autograd::Function<ConvolutionInFp8> {
  static at::Tensor forward(AutogradContext* ctx,
                            const at::Tensor& x,
                            const at::Tensor& w,
                            const Fp8Layer* layer,
                            const Fp8Convolution& shape,
                            bool record) {
    const Operands o = Operands::cast(ctx, layer, x, w, record);
    ctx->saved_data["strides"] = shape.strides;
    ctx->saved_data["pads"] = shape.pads;
    ctx->saved_data["dilations"] = shape.dilations;
    ctx->saved_data["group"] = shape.group;
    const std::vector<int64_t> none(shape.strides.size(), 0);
    return at::convolution(o.x.values, o.w.values, std::nullopt, shape.strides, shape.pads,
                           shape.dilations, false, none, shape.group)
        .mul_(undoing(o.x.scale, o.w.scale));
  }
  static variable_list backward(AutogradContext* ctx, variable_list& gradients) {
    if (!gradients[0].defined()) return {{}, {}, {}, {}, {}};
    const Operands o = Operands::saved(ctx);
    const Fp8Cast g = o.layer->gradient(gradients[0]);
    const auto ints = [&](const char* of) { return ctx->saved_data[of].toIntVector(); };
    const std::vector<int64_t> strides = ints("strides"), none(strides.size(), 0);
    auto [dx, dw, db] = at::convolution_backward(
        g.values, o.x.values, o.w.values, at::OptionalIntArrayRef(), strides, ints("pads"),
        ints("dilations"), false, none, ctx->saved_data["group"].toInt(),
        {ctx->needs_input_grad(0), ctx->needs_input_grad(1), false});
    if (dx.defined()) dx.mul_(undoing(g.scale, o.w.scale));
    if (dw.defined()) dw.mul_(undoing(g.scale, o.x.scale));
    return {dx, dw, {}, {}, {}};
  }
};

} // namespace

Fp8Layer::Fp8Layer(Fp8Scales& scales)
    : scales_(scales), input_(scales.add(Fp8Format::kE4M3FN)),
      weight_(scales.add(Fp8Format::kE4M3FN)), gradient_(scales.add(Fp8Format::kE5M2)) {}

at::Tensor Fp8Layer::linear(const at::Tensor& x, const at::Tensor& w, bool record) const {
  return LinearInFp8::apply(x, w, this, record);
}

at::Tensor Fp8Layer::convolution(const at::Tensor& x,
                                 const at::Tensor& w,
                                 const Fp8Convolution& shape,
                                 bool record) const {
  return ConvolutionInFp8::apply(x, w, this, shape, record);
}

} // namespace octet::train

// SPDX-License-Identifier: Apache-2.0
// Activations with attributes or a second input.
#include "train/ops/mapping.h"
#include <ATen/ops/clamp.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/isinf.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

using octet::train::Call;

OCTET_TORCH_UNARY(Mish, at::mish(x))

OCTET_TORCH(onnx, HardSwish) {
  return [](Call& c) {
    const at::Tensor& x = c.in(0);
    c.out(x * at::clamp(x / 6 + 0.5, 0, 1));
  };
}

OCTET_TORCH(onnx, Elu) {
  const double alpha = p.node.attr_float("alpha", 1.0F);
  return [alpha](Call& c) { c.out(at::elu(c.in(0), alpha)); };
}

OCTET_TORCH(onnx, Celu) {
  const double alpha = p.node.attr_float("alpha", 1.0F);
  return [alpha](Call& c) { c.out(at::elu(c.in(0), alpha, 1, 1 / alpha)); };
}

OCTET_TORCH(onnx, Selu) {
  const double alpha = p.node.attr_float("alpha", 1.67326319217681884765625F);
  const double gamma = p.node.attr_float("gamma", 1.05070102214813232421875F);
  return [=](Call& c) { c.out(at::elu(c.in(0), alpha, gamma)); };
}

OCTET_TORCH(onnx, LeakyRelu) {
  const double alpha = p.node.attr_float("alpha", 0.01F);
  return [alpha](Call& c) { c.out(at::leaky_relu(c.in(0), alpha)); };
}

OCTET_TORCH(onnx, PRelu) {
  return [](Call& c) {
    const at::Tensor& x = c.in(0);
    c.out(at::where(x < 0, x * c.in(1), x));
  };
}

OCTET_TORCH(onnx, ThresholdedRelu) {
  const double alpha = p.node.attr_float("alpha", 1.0F);
  return [alpha](Call& c) {
    const at::Tensor& x = c.in(0);
    c.out(at::where(x > alpha, x, at::zeros_like(x)));
  };
}

OCTET_TORCH(onnx, HardSigmoid) {
  const double alpha = p.node.attr_float("alpha", 0.2F);
  const double beta = p.node.attr_float("beta", 0.5F);
  return [=](Call& c) { c.out(at::clamp(c.in(0) * alpha + beta, 0, 1)); };
}

OCTET_TORCH(onnx, Swish) {
  const double alpha = p.node.attr_float("alpha", 1.0F);
  return [alpha](Call& c) { c.out(c.in(0) * at::sigmoid(c.in(0) * alpha)); };
}

OCTET_TORCH(onnx, Gelu) {
  const std::string approximate = p.node.attr_string("approximate", "none");
  return [approximate](Call& c) { c.out(at::gelu(c.in(0), approximate)); };
}

OCTET_TORCH(ms, Gelu) {
  return [](Call& c) { c.out(at::gelu(c.in(0))); };
}

OCTET_TORCH(ms, FastGelu) {
  return [](Call& c) { c.out(at::gelu(c.has(1) ? c.in(0) + c.in(1) : c.in(0), "tanh")); };
}

OCTET_TORCH(ms, BiasGelu) {
  return [](Call& c) { c.out(at::gelu(c.in(0) + c.in(1))); };
}

OCTET_TORCH(ms, QuickGelu) {
  const double alpha = p.node.attr_float("alpha", 1.702F);
  return [alpha](Call& c) { c.out(c.in(0) * at::sigmoid(c.in(0) * alpha)); };
}

OCTET_TORCH(onnx, Clip) {
  if (p.version < 11) {
    const double low = p.node.attr_float("min", -3.4028234663852886e38F);
    const double high = p.node.attr_float("max", 3.4028234663852886e38F);
    return [=](Call& c) { c.out(at::clamp(c.in(0), low, high)); };
  }
  return [](Call& c) {
    // Bounds in the type of x: an int64 bound does not fit a double. Clip to max comes last.
    at::Tensor y = c.in(0);
    if (c.has(1)) y = at::maximum(y, c.in(1).to(y.device()));
    if (c.has(2)) y = at::minimum(y, c.in(2).to(y.device()));
    c.out(y);
  };
}

OCTET_TORCH(onnx, Shrink) {
  const double bias = p.node.attr_float("bias", 0.0F);
  const double lambda = p.node.attr_float("lambd", 0.5F);
  return [=](Call& c) {
    const at::Tensor& x = c.in(0);
    c.out(at::where(x < -lambda, x + bias, at::where(x > lambda, x - bias, at::zeros_like(x)))
              .to(x.scalar_type()));
  };
}

OCTET_TORCH(onnx, IsInf) {
  const bool negative = p.node.attr_int("detect_negative", 1) != 0;
  const bool positive = p.node.attr_int("detect_positive", 1) != 0;
  return [=](Call& c) {
    const at::Tensor& x = c.in(0);
    at::Tensor y = at::isinf(x);
    if (!negative) y = at::mul(y, x > 0);
    if (!positive) y = at::mul(y, x < 0);
    c.out(y);
  };
}

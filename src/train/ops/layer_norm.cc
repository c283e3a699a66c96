// SPDX-License-Identifier: Apache-2.0
// Normalizations over trailing axes, groups, vectors and neighbouring channels.
#include <algorithm>

#include "train/ops/mapping.h"
#include "train/ops/widened.h"
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/zeros_like.h>

using octet::train::Call;
using octet::train::widened;
using octet::train::wrap_axis;

namespace {

/// y, mean and 1 / standard deviation of x normalized over its axes from `axis` on.
std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm(const at::Tensor& x,
                                                          const at::Tensor& gain,
                                                          const std::optional<at::Tensor>& bias,
                                                          int64_t axis,
                                                          double epsilon) {
  const at::IntArrayRef shape = x.sizes().slice(static_cast<size_t>(wrap_axis(axis, x.dim())));
  const auto rank = static_cast<int64_t>(shape.size());
  // ONNX lets gain and bias broadcast, also along the axes in front; LibTorch wants the whole
  // shape.
  if (gain.dim() > rank || (bias && bias->dim() > rank)) {
    auto [y, mean, inverse] = at::native_layer_norm(x, shape, std::nullopt, std::nullopt, epsilon);
    y = y * gain;
    return {bias ? y + *bias : y, mean, inverse};
  }
  std::optional<at::Tensor> wide_bias;
  if (bias) wide_bias = bias->sizes() == shape ? *bias : bias->expand(shape);
  return at::native_layer_norm(x, shape, gain.sizes() == shape ? gain : gain.expand(shape),
                               wide_bias, epsilon);
}

/// 1 / sqrt(mean of x^2 + epsilon) over the axes from `axis` on.
at::Tensor rms_factor(const at::Tensor& x, int64_t axis, double epsilon) {
  std::vector<int64_t> axes;
  for (int64_t i = wrap_axis(axis, x.dim()); i < x.dim(); ++i)
    axes.push_back(i);
  return at::rsqrt(at::mean(x * x, axes, true) + epsilon);
}

std::optional<at::Tensor> optional_input(const Call& c, size_t i) {
  return c.has(i) ? std::optional(c.in(i)) : std::nullopt;
}

} // namespace

OCTET_TORCH(onnx, LayerNormalization) {
  const int64_t axis = p.node.attr_int("axis", -1);
  const double epsilon = p.node.attr_float("epsilon", 1e-5F);
  return [=](Call& c) {
    auto [y, mean, inverse] = layer_norm(c.in(0), c.in(1), optional_input(c, 2), axis, epsilon);
    c.out(y);
    c.out(mean, 1);
    c.out(inverse, 2);
  };
}

OCTET_TORCH(ms, LayerNormalization) {
  const int64_t axis = p.node.attr_int("axis", -1);
  const double epsilon = p.node.attr_float("epsilon", 1e-5F);
  return [=](Call& c) {
    auto [y, mean, inverse] = layer_norm(c.in(0), c.in(1), optional_input(c, 2), axis, epsilon);
    c.out(y);
    c.out(mean, 1);
    c.out(inverse, 2);
  };
}

OCTET_TORCH(ms, SkipLayerNormalization) {
  const double epsilon = p.node.attr_float("epsilon", 1e-12F);
  return [epsilon](Call& c) {
    at::Tensor sum = c.in(0) + c.in(1);
    if (c.has(4)) sum = sum + c.in(4);
    auto [y, mean, inverse] = layer_norm(sum, c.in(2), optional_input(c, 3), -1, epsilon);
    c.out(y);
    c.out(mean, 1);
    c.out(inverse, 2);
    c.out(sum, 3);
  };
}

OCTET_TORCH(onnx, RMSNormalization) {
  const int64_t axis = p.node.attr_int("axis", -1);
  const double epsilon = p.node.attr_float("epsilon", 1e-5F);
  return [=](Call& c) {
    const at::Tensor x = widened(c.in(0));
    c.out((x * rms_factor(x, axis, epsilon) * c.in(1)).to(c.in(1).scalar_type()));
  };
}

OCTET_TORCH(onnx, SimplifiedLayerNormalization) {
  const int64_t axis = p.node.attr_int("axis", -1);
  const double epsilon = p.node.attr_float("epsilon", 1e-5F);
  return [=](Call& c) {
    const at::Tensor x = widened(c.in(0));
    const at::Tensor factor = rms_factor(x, axis, epsilon);
    c.out((x * factor * c.in(1)).to(c.in(1).scalar_type()));
    c.out(factor.to(at::kFloat), 1);
  };
}

OCTET_TORCH(ms, SkipSimplifiedLayerNormalization) {
  const double epsilon = p.node.attr_float("epsilon", 1e-12F);
  return [epsilon](Call& c) {
    at::Tensor sum = widened(c.in(0)) + widened(c.in(1));
    if (c.has(3)) sum = sum + c.in(3);
    const at::Tensor factor = rms_factor(sum, -1, epsilon);
    c.out((sum * factor * c.in(2)).to(c.in(0).scalar_type()));
    c.out(at::zeros_like(factor, factor.options().dtype(at::kFloat)), 1); // never computed
    c.out(factor.to(at::kFloat), 2);
    c.out(sum.to(c.in(0).scalar_type()), 3);
  };
}

OCTET_TORCH(onnx, LRN) {
  const int64_t size = p.node.attr_int("size", 1);
  const double alpha = p.node.attr_float("alpha", 1e-4F);
  const double beta = p.node.attr_float("beta", 0.75F);
  const double bias = p.node.attr_float("bias", 1.0F);
  return [=](Call& c) {
    const at::Tensor x = widened(c.in(0));
    const int64_t channels = x.size(1);
    // Channels beyond the ends count as zeros; those farther off than all channels say nothing.
    const int64_t before = std::min((size - 1) / 2, channels);
    const int64_t behind = std::min(size / 2, channels);
    std::vector<int64_t> pads(2 * static_cast<size_t>(x.dim() - 1), 0);
    pads[pads.size() - 2] = before;
    pads[pads.size() - 1] = behind;
    const at::Tensor squares = at::constant_pad_nd(x * x, pads);
    at::Tensor sum = squares.narrow(1, 0, channels);
    for (int64_t k = 1; k <= before + behind; ++k)
      sum = sum + squares.narrow(1, k, channels);
    const at::Tensor root = at::pow(sum * (alpha / static_cast<double>(size)) + bias, beta);
    c.out((x / root).to(c.in(0).scalar_type()));
  };
}

OCTET_TORCH(onnx, GroupNormalization) {
  const int64_t groups = p.node.attr_int("num_groups", 1);
  const double epsilon = p.node.attr_float("epsilon", 1e-5F);
  const bool per_group = p.version < 21; // gain and bias then had one value a group
  return [=](Call& c) {
    at::Tensor gain = c.in(1), bias = c.in(2);
    if (per_group) {
      gain = gain.repeat_interleave(c.in(0).size(1) / groups);
      bias = bias.repeat_interleave(c.in(0).size(1) / groups);
    }
    c.out(at::group_norm(c.in(0), groups, gain, bias, epsilon));
  };
}

OCTET_TORCH(onnx, MeanVarianceNormalization) {
  std::vector<int64_t> axes = p.node.attr_ints("axes");
  if (axes.empty()) axes = {0, 2, 3};
  return [axes](Call& c) {
    const at::Tensor centred = c.in(0) - at::mean(c.in(0), axes, true);
    c.out(centred / (at::sqrt(at::mean(centred * centred, axes, true)) + 1e-9));
  };
}

OCTET_TORCH(onnx, LpNormalization) {
  const int64_t axis = p.node.attr_int("axis", -1);
  const int64_t order = p.node.attr_int("p", 2);
  return [=](Call& c) {
    const at::Tensor& x = c.in(0);
    const at::Tensor norm = at::linalg_vector_norm(x, static_cast<double>(order), axis, true);
    c.out((x / norm).masked_fill(norm == 0, 0));
  };
}

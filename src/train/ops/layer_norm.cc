// SPDX-License-Identifier: Apache-2.0
// Normalizations over trailing axes, groups and vectors.
#include "train/ops/mapping.h"
#include <ATen/ops/group_norm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sqrt.h>

using octet::train::Call;
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
    const at::Tensor& x = c.in(0);
    std::vector<int64_t> axes;
    for (int64_t i = wrap_axis(axis, x.dim()); i < x.dim(); ++i)
      axes.push_back(i);
    c.out(x * at::rsqrt(at::mean(x * x, axes, true) + epsilon) * c.in(1));
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

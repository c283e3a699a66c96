// SPDX-License-Identifier: Apache-2.0
// BatchNormalization and InstanceNormalization. While training, batch statistics are used and the
// running ones become running * momentum + batch * (1 - momentum), with the population variance, as
// ONNX's operator text has it for training_mode.
#include "train/ops/mapping.h"
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/instance_norm.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/square.h>
#include <ATen/ops/sub.h>
#include <torch/csrc/autograd/custom_function.h>

using octet::train::Call;

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor dense(const at::Tensor& x) {
  return x.contiguous(x.suggest_memory_format());
}

/// Hands x on, and its gradient as it lies in memory where it is dense. LibTorch's normalization
/// over a batch gives wrong gradients on the CPU for operands of other strides.
struct DenseGradient : torch::autograd::Function<DenseGradient> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x) {
    ctx->saved_data["format"] = static_cast<int64_t>(x.suggest_memory_format());
    return x.view_as(x);
  }
  static variable_list backward(AutogradContext* ctx, variable_list& gradients) {
    if (!gradients[0].defined()) return {{}};
    return {
        gradients[0].contiguous(static_cast<at::MemoryFormat>(ctx->saved_data["format"].toInt()))};
  }
};

at::Tensor with_dense_gradient(const at::Tensor& y) {
  return y.requires_grad() ? DenseGradient::apply(y) : y;
}

} // namespace

OCTET_TORCH(onnx, BatchNormalization) {
  const double epsilon = p.node.attr_float("epsilon", 1e-5F);
  const double momentum = p.node.attr_float("momentum", 0.9F);
  const bool always = p.version >= 14 && p.node.attr_int("training_mode", 0) != 0;
  return [=](Call& c) {
    const at::Tensor x = dense(c.in(0));
    const at::Tensor &gain = c.in(1), &bias = c.in(2), &mean = c.in(3), &var = c.in(4);
    if (!always && (!c.run().training || c.run().freeze_statistics)) {
      c.out(
          with_dense_gradient(at::batch_norm(x, gain, bias, mean, var, false, 0, epsilon, false)));
      return;
    }
    auto [y, batch_mean, inverse] =
        at::native_batch_norm(x, gain, bias, std::nullopt, std::nullopt, true, 0, epsilon);
    c.out(with_dense_gradient(y));
    const at::Tensor batch_var = at::square(inverse.detach()).reciprocal() - epsilon;
    const at::Tensor new_mean = mean * momentum + batch_mean.detach() * (1 - momentum);
    const at::Tensor new_var = var * momentum + batch_var * (1 - momentum);
    c.out(new_mean, 1);
    c.out(new_var, 2);
    if (c.run().training) {
      c.update(3, new_mean);
      c.update(4, new_var);
    }
  };
}

OCTET_TORCH(onnx, InstanceNormalization) {
  const double epsilon = p.node.attr_float("epsilon", 1e-5F);
  return [epsilon](Call& c) {
    c.out(with_dense_gradient(at::instance_norm(dense(c.in(0)), c.in(1), c.in(2), std::nullopt,
                                                std::nullopt, true, 0, epsilon, false)));
  };
}

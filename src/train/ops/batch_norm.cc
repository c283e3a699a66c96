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

using octet::train::Call;

OCTET_TORCH(onnx, BatchNormalization) {
  const double epsilon = p.node.attr_float("epsilon", 1e-5F);
  const double momentum = p.node.attr_float("momentum", 0.9F);
  const bool always = p.version >= 14 && p.node.attr_int("training_mode", 0) != 0;
  return [=](Call& c) {
    const at::Tensor &x = c.in(0), &gain = c.in(1), &bias = c.in(2), &mean = c.in(3),
                     &var = c.in(4);
    if (!always && (!c.run().training || c.run().freeze_statistics)) {
      c.out(at::batch_norm(x, gain, bias, mean, var, false, 0, epsilon, false));
      return;
    }
    auto [y, batch_mean, inverse] =
        at::native_batch_norm(x, gain, bias, std::nullopt, std::nullopt, true, 0, epsilon);
    c.out(y);
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
    c.out(at::instance_norm(c.in(0), c.in(1), c.in(2), std::nullopt, std::nullopt, true, 0, epsilon,
                            false));
  };
}

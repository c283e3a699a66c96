// SPDX-License-Identifier: Apache-2.0
// Softmax and LogSoftmax. Before opset 13 the axes from `axis` on counted as one.
#include "train/ops/mapping.h"
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/softmax.h>

using octet::train::Apply;
using octet::train::Call;
using octet::train::Prepare;
using octet::train::wrap_axis;

namespace {

using Function = at::Tensor (*)(const at::Tensor&, int64_t);

Apply over_axis(const Prepare& p, Function function) {
  const bool flattens = p.version < 13;
  const int64_t axis = p.node.attr_int("axis", flattens ? 1 : -1);
  if (!flattens) return [=](Call& c) { c.out(function(c.in(0), axis)); };
  return [=](Call& c) {
    const at::Tensor& x = c.in(0);
    const int64_t first = wrap_axis(axis, x.dim());
    if (first == x.dim() - 1)
      c.out(function(x, first));
    else
      c.out(function(x.flatten(first), first).reshape(x.sizes()));
  };
}

} // namespace

OCTET_TORCH(onnx, Softmax) {
  return over_axis(p, [](const at::Tensor& x, int64_t axis) { return at::softmax(x, axis); });
}
OCTET_TORCH(onnx, LogSoftmax) {
  return over_axis(p, [](const at::Tensor& x, int64_t axis) { return at::log_softmax(x, axis); });
}

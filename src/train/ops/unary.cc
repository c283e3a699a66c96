// SPDX-License-Identifier: Apache-2.0
// Operators that are one function of each element, without attributes.
#include "train/ops/mapping.h"
#include <ATen/ops/abs.h>
#include <ATen/ops/acos.h>
#include <ATen/ops/acosh.h>
#include <ATen/ops/alias.h>
#include <ATen/ops/asin.h>
#include <ATen/ops/asinh.h>
#include <ATen/ops/atan.h>
#include <ATen/ops/atanh.h>
#include <ATen/ops/bitwise_not.h>
#include <ATen/ops/ceil.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/cosh.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/log.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/round.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sinh.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/tan.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/where.h>

OCTET_TORCH_UNARY(Abs, at::abs(x))
OCTET_TORCH_UNARY(Acos, at::acos(x))
OCTET_TORCH_UNARY(Acosh, at::acosh(x))
OCTET_TORCH_UNARY(Asin, at::asin(x))
OCTET_TORCH_UNARY(Asinh, at::asinh(x))
OCTET_TORCH_UNARY(Atan, at::atan(x))
OCTET_TORCH_UNARY(Atanh, at::atanh(x))
OCTET_TORCH_UNARY(BitwiseNot, at::bitwise_not(x))
OCTET_TORCH_UNARY(Ceil, at::ceil(x))
OCTET_TORCH_UNARY(Cos, at::cos(x))
OCTET_TORCH_UNARY(Cosh, at::cosh(x))
OCTET_TORCH_UNARY(Erf, at::erf(x))
OCTET_TORCH_UNARY(Exp, at::exp(x))
OCTET_TORCH_UNARY(Floor, at::floor(x))
OCTET_TORCH_UNARY(Identity, x)
OCTET_TORCH_UNARY(IsNaN, at::isnan(x))
OCTET_TORCH_UNARY(Log, at::log(x))
OCTET_TORCH_UNARY(Neg, at::neg(x))
OCTET_TORCH_UNARY(Not, at::logical_not(x))
OCTET_TORCH_UNARY(Reciprocal, at::reciprocal(x))
OCTET_TORCH_UNARY(Relu, at::relu(x))
OCTET_TORCH_UNARY(Round, at::round(x)) // half to even in both
OCTET_TORCH_UNARY(Sigmoid, at::sigmoid(x))
OCTET_TORCH_UNARY(Sin, at::sin(x))
OCTET_TORCH_UNARY(Sinh, at::sinh(x))
OCTET_TORCH_UNARY(Softplus, at::softplus(x, 1, 40))
OCTET_TORCH_UNARY(Softsign, x / (1 + at::abs(x)))
OCTET_TORCH_UNARY(Sqrt, at::sqrt(x))
OCTET_TORCH_UNARY(Tan, at::tan(x))
OCTET_TORCH_UNARY(Tanh, at::tanh(x))

OCTET_TORCH(onnx, Sign) {
  return [](octet::train::Call& c) {
    const at::Tensor& x = c.in(0);
    const at::Tensor y = at::sign(x);
    c.out(x.is_floating_point() ? at::where(x.isnan(), x, y) : y); // LibTorch's sign of NaN is 0
  };
}

// SPDX-License-Identifier: Apache-2.0
// Arithmetic, comparison and logic on tensors that broadcast together, and Where.
#include "train/ops/mapping.h"
#include <ATen/ops/add.h>
#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_left_shift.h>
#include <ATen/ops/bitwise_or.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/bitwise_xor.h>
#include <ATen/ops/div.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/fmod.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/le.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/logical_xor.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/where.h>

using octet::train::Call;
using octet::train::Prepare;

namespace {

/// The second operand on the device of the first; constants of computed shapes stay on the CPU.
std::pair<at::Tensor, at::Tensor> operands(const Call& c) {
  const at::Tensor &a = c.in(0), &b = c.in(1);
  // LibTorch takes a scalar from the CPU's memory as it is.
  if (a.device() == b.device() || (a.is_cpu() && a.dim() == 0) || (b.is_cpu() && b.dim() == 0))
    return {a, b};
  return a.is_cpu() ? std::pair(a.to(b.device()), b) : std::pair(a, b.to(a.device()));
}

/// Operator sets before 7 aligned the second operand at `axis`; the mapping declines there.
bool old_broadcast(const Prepare& p) {
  return p.version < 7 && p.node.attr_int("broadcast", 0) != 0;
}

octet::train::Apply folded(at::Tensor (*combine)(const at::Tensor&, const at::Tensor&)) {
  return [combine](Call& c) {
    at::Tensor y = c.in(0);
    for (size_t i = 1; i < c.inputs(); ++i)
      y = combine(y, c.in(i));
    c.out(y);
  };
}

at::Tensor plus(const at::Tensor& a, const at::Tensor& b) {
  return at::add(a, b);
}

} // namespace

#define OCTET_TORCH_BINARY(Name, expression)                                                       \
  OCTET_TORCH(onnx, Name) {                                                                        \
    if (old_broadcast(p)) return {};                                                               \
    return [](Call& c) {                                                                           \
      const auto [a, b] = operands(c);                                                             \
      c.out(expression);                                                                           \
    };                                                                                             \
  }

OCTET_TORCH_BINARY(Add, at::add(a, b))
OCTET_TORCH_BINARY(Sub, at::sub(a, b))
OCTET_TORCH_BINARY(Mul, at::mul(a, b))
OCTET_TORCH_BINARY(Equal, at::eq(a, b))
OCTET_TORCH_BINARY(Greater, at::gt(a, b))
OCTET_TORCH_BINARY(GreaterOrEqual, at::ge(a, b))
OCTET_TORCH_BINARY(Less, at::lt(a, b))
OCTET_TORCH_BINARY(LessOrEqual, at::le(a, b))
OCTET_TORCH_BINARY(And, at::logical_and(a, b))
OCTET_TORCH_BINARY(Or, at::logical_or(a, b))
OCTET_TORCH_BINARY(Xor, at::logical_xor(a, b))
OCTET_TORCH_BINARY(BitwiseAnd, at::bitwise_and(a, b))
OCTET_TORCH_BINARY(BitwiseOr, at::bitwise_or(a, b))
OCTET_TORCH_BINARY(BitwiseXor, at::bitwise_xor(a, b))

OCTET_TORCH(onnx, Div) {
  if (old_broadcast(p)) return {};
  if (octet::is_integer(p.type(0)))
    return [](Call& c) {
      const auto [a, b] = operands(c);
      c.out(at::div(a, b, "trunc"));
    };
  return [](Call& c) {
    const auto [a, b] = operands(c);
    c.out(at::div(a, b));
  };
}

OCTET_TORCH(onnx, Pow) {
  return [known = p.number(1)](Call& c) {
    const auto [a, b] = operands(c);
    if (a.is_floating_point() && b.numel() == 1 && !b.requires_grad()) {
      const double exponent = c.number(1, known);
      at::Tensor y = at::pow(a, exponent); // x * x for 2: faster, and a gradient at 0
      c.out(b.dim() > a.dim() ? y.expand(b.sizes()) : y);
      return;
    }
    c.out(at::pow(a, b).to(a.scalar_type()));
  };
}

OCTET_TORCH(onnx, Mod) {
  if (p.node.attr_int("fmod", 0) != 0)
    return [](Call& c) {
      const auto [a, b] = operands(c);
      c.out(at::fmod(a, b));
    };
  return [](Call& c) {
    const auto [a, b] = operands(c);
    c.out(at::remainder(a, b));
  };
}

OCTET_TORCH(onnx, Max) {
  return folded(at::maximum);
}
OCTET_TORCH(onnx, Min) {
  return folded(at::minimum);
}
OCTET_TORCH(onnx, Sum) {
  return folded(plus);
}
OCTET_TORCH(onnx, Mean) {
  return [](Call& c) {
    at::Tensor y = c.in(0);
    for (size_t i = 1; i < c.inputs(); ++i)
      y = y + c.in(i);
    c.out(y / static_cast<double>(c.inputs()));
  };
}

OCTET_TORCH(onnx, Where) {
  return [](Call& c) {
    const at::Tensor& a = c.in(1);
    c.out(at::where(c.in(0).to(a.device()), a, c.in(2).to(a.device())));
  };
}

// SPDX-License-Identifier: Apache-2.0
// MatMul, Gemm and Einsum.
#include "train/ops/mapping.h"
#include <ATen/ops/addmm.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mm.h>

using octet::train::Call;

OCTET_TORCH(onnx, MatMul) {
  return [](Call& c) { c.out(at::matmul(c.in(0), c.in(1))); };
}

OCTET_TORCH(onnx, Gemm) {
  const double alpha = p.node.attr_float("alpha", 1.0F);
  const double beta = p.node.attr_float("beta", 1.0F);
  const bool trans_a = p.node.attr_int("transA", 0) != 0;
  const bool trans_b = p.node.attr_int("transB", 0) != 0;
  return [=](Call& c) {
    const at::Tensor a = trans_a ? c.in(0).t() : c.in(0);
    const bool plain = alpha == 1 && beta == 1;
    if (plain && trans_b && c.has(2) && c.in(2).dim() == 1) {
      c.out(at::linear(a, c.in(1), c.in(2)));
      return;
    }
    const at::Tensor b = trans_b ? c.in(1).t() : c.in(1);
    if (c.has(2)) {
      c.out(at::addmm(c.in(2), a, b, beta, alpha));
    } else {
      const at::Tensor y = at::mm(a, b);
      c.out(alpha == 1 ? y : y * alpha);
    }
  };
}

OCTET_TORCH(onnx, Einsum) {
  const std::string equation = p.node.attr_string("equation", "");
  return [equation](Call& c) {
    std::vector<at::Tensor> operands;
    for (size_t i = 0; i < c.inputs(); ++i)
      operands.push_back(c.in(i));
    c.out(at::einsum(equation, operands));
  };
}

// SPDX-License-Identifier: Apache-2.0
// MatMul, Gemm and Einsum.
#include "train/fp8/layer.h"
#include "train/ops/mapping.h"
#include <ATen/ops/add.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mm.h>

using octet::train::Call;

OCTET_TORCH(onnx, MatMul) {
  return [](Call& c) {
    const at::Tensor &a = c.in(0), &b = c.in(1);
    if (c.fp8() == nullptr) {
      c.out(at::matmul(a, b));
      return;
    }
    std::vector<int64_t> shape = a.sizes().vec();
    shape.back() = b.size(1);
    const at::Tensor rows = a.reshape({-1, a.size(-1)});
    c.out(c.fp8()->linear(rows, b, c.run().training).view(shape));
  };
}

OCTET_TORCH(onnx, Gemm) {
  const double alpha = p.node.attr_float("alpha", 1.0F);
  const double beta = p.node.attr_float("beta", 1.0F);
  const bool trans_a = p.node.attr_int("transA", 0) != 0;
  const bool trans_b = p.node.attr_int("transB", 0) != 0;
  return [=](Call& c) {
    const at::Tensor a = trans_a ? c.in(0).t() : c.in(0);
    const at::Tensor b = trans_b ? c.in(1).t() : c.in(1);
    if (c.fp8() != nullptr) {
      at::Tensor y = c.fp8()->linear(a, b, c.run().training);
      if (alpha != 1) y = y * alpha;
      c.out(c.has(2) ? at::add(y, c.in(2), beta) : y);
      return;
    }
    const bool plain = alpha == 1 && beta == 1;
    if (plain && trans_b && c.has(2) && c.in(2).dim() == 1) {
      c.out(at::linear(a, c.in(1), c.in(2)));
      return;
    }
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

// SPDX-License-Identifier: Apache-2.0
// Pooling. Symmetric padding goes to LibTorch's kernels; the rest is padded explicitly, the mean as
// a sum over a count of the elements that are not padding.
#include <algorithm>
#include <limits>

#include "train/ops/mapping.h"
#include "train/ops/widened.h"
#include <ATen/ops/abs.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/avg_pool1d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/full.h>
#include <ATen/ops/max_pool1d.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/max_pool3d.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sum.h>

using octet::train::Call;
using octet::train::ints_or;
using octet::train::resolve_pads;
using octet::train::torch_pads;
using octet::train::widened;

namespace {

struct PoolAttrs {
  std::vector<int64_t> kernel, strides, dilations, pads;
  std::vector<int64_t> beyond; ///< what ceil_mode needs past the end padding
  bool ceil;
};

PoolAttrs resolve(const octet::Node& node, const at::Tensor& x) {
  const std::vector<int64_t> kernel = node.attr_ints("kernel_shape");
  const size_t n = kernel.size();
  TORCH_CHECK(n >= 1 && static_cast<int64_t>(n) + 2 == x.dim(), "kernel_shape has ", n,
              " values for an input of rank ", x.dim());
  PoolAttrs a{kernel,
              ints_or(node.attr_ints("strides"), n, 1),
              ints_or(node.attr_ints("dilations"), n, 1),
              {},
              std::vector<int64_t>(n, 0),
              node.attr_int("ceil_mode", 0) != 0};
  a.pads = resolve_pads(node, x.sizes().slice(2), kernel, a.strides, a.dilations);
  for (size_t i = 0; a.ceil && i < n; ++i) {
    const int64_t size = x.size(static_cast<int64_t>(i) + 2),
                  extent = (kernel[i] - 1) * a.dilations[i] + 1;
    const int64_t span = size + a.pads[i] + a.pads[n + i] - extent;
    int64_t out = (span + a.strides[i] - 1) / a.strides[i] + 1;
    // A window that would start in the end padding is left out.
    if ((out - 1) * a.strides[i] >= size + a.pads[i]) --out;
    a.beyond[i] = std::max<int64_t>(0, (out - 1) * a.strides[i] - span);
  }
  return a;
}

/// LibTorch pads equally on both sides, by at most half the kernel.
bool fits_torch(const PoolAttrs& a) {
  const size_t n = a.kernel.size();
  for (size_t i = 0; i < n; ++i)
    if (a.pads[i] != a.pads[n + i] || a.pads[i] < 0 || a.pads[i] > a.kernel[i] / 2) return false;
  return true;
}

/// LibTorch's means over windows of three axes look at the plane without its padding.
bool is_larger(const PoolAttrs& a, const at::Tensor& x) {
  for (size_t i = 0; i < a.kernel.size(); ++i)
    if (a.kernel[i] > x.size(static_cast<int64_t>(i) + 2)) return true;
  return false;
}

std::vector<int64_t> all_pads(const PoolAttrs& a) {
  std::vector<int64_t> pads = a.pads;
  for (size_t i = 0; i < a.beyond.size(); ++i)
    pads[a.beyond.size() + i] += a.beyond[i];
  return torch_pads(pads);
}

bool is_dilated(const PoolAttrs& a) {
  return std::any_of(a.dilations.begin(), a.dilations.end(), [](int64_t d) { return d != 1; });
}

/// The sum over each window, x: [N, C, ...] without further padding.
at::Tensor window_sum(const at::Tensor& x, const PoolAttrs& a) {
  if (a.kernel.size() < 3 && !is_dilated(a)) { // a mean over a count of 1
    const bool line = a.kernel.size() == 1;
    std::vector<int64_t> window = a.kernel, strides = a.strides;
    for (std::vector<int64_t>* sizes : {&window, &strides})
      if (line) sizes->insert(sizes->begin(), 1);
    const at::Tensor y = at::avg_pool2d(line ? x.unsqueeze(2) : x, window, strides, {0, 0}, false,
                                        true, /*divisor_override=*/1);
    return line ? y.squeeze(2) : y;
  }
  std::vector<int64_t> kernel{1, 1}, flat{x.size(0) * x.size(1), 1}, back{x.size(0), x.size(1)};
  const std::vector<int64_t> none(a.kernel.size(), 0);
  kernel.insert(kernel.end(), a.kernel.begin(), a.kernel.end());
  flat.insert(flat.end(), x.sizes().begin() + 2, x.sizes().end());
  const at::Tensor y = at::convolution(x.reshape(flat), at::ones(kernel, x.options()), std::nullopt,
                                       a.strides, none, a.dilations, false, none, 1);
  back.insert(back.end(), y.sizes().begin() + 2, y.sizes().end());
  return y.reshape(back);
}

at::Tensor average_padded(const at::Tensor& x, const PoolAttrs& a, bool include_pad) {
  std::vector<int64_t> one{1, 1};
  one.insert(one.end(), x.sizes().begin() + 2, x.sizes().end());
  at::Tensor counted = at::ones(one, x.options().requires_grad(false));
  if (include_pad) {
    counted = at::constant_pad_nd(counted, torch_pads(a.pads), 1);
    std::vector<int64_t> end(2 * a.beyond.size(), 0);
    std::copy(a.beyond.begin(), a.beyond.end(),
              end.begin() + static_cast<int64_t>(a.beyond.size()));
    counted = at::constant_pad_nd(counted, torch_pads(end));
  } else {
    counted = at::constant_pad_nd(counted, all_pads(a));
  }
  // A window wholly in the padding averages to 0.
  const at::Tensor count = window_sum(counted, a).clamp_min(1);
  return window_sum(at::constant_pad_nd(x, all_pads(a)), a) / count;
}

/// |x|^order.
at::Tensor norm_power(const at::Tensor& x, int64_t order) {
  if (order == 1) return at::abs(x);
  return order == 2 ? x * x : at::pow(at::abs(x), static_cast<double>(order));
}

/// sum^(1 / order), whose slope at 0 counts as 0.
at::Tensor norm_root(const at::Tensor& sum, int64_t order) {
  if (order == 1) return sum;
  const at::Tensor empty = sum == 0;
  return at::pow(sum.masked_fill(empty, 1), 1 / static_cast<double>(order)).masked_fill(empty, 0);
}

std::vector<int64_t> spatial_axes(const at::Tensor& x) {
  std::vector<int64_t> axes;
  for (int64_t i = 2; i < x.dim(); ++i)
    axes.push_back(i);
  return axes;
}

} // namespace

OCTET_TORCH(onnx, AveragePool) {
  const octet::Node node = p.node;
  const bool include_pad = node.attr_int("count_include_pad", 0) != 0;
  return [node, include_pad](Call& c) {
    const at::Tensor& x = c.in(0);
    const PoolAttrs a = resolve(node, x);
    const size_t n = a.kernel.size();
    if (is_dilated(a) || n > 3 || !fits_torch(a) || (n == 3 && is_larger(a, x))) {
      c.out(average_padded(x, a, include_pad));
      return;
    }
    const at::IntArrayRef half(a.pads.data(), n);
    if (n == 1) c.out(at::avg_pool1d(x, a.kernel, a.strides, half, a.ceil, include_pad));
    if (n == 2) c.out(at::avg_pool2d(x, a.kernel, a.strides, half, a.ceil, include_pad));
    if (n == 3) c.out(at::avg_pool3d(x, a.kernel, a.strides, half, a.ceil, include_pad));
  };
}

OCTET_TORCH(onnx, MaxPool) {
  const octet::Node node = p.node;
  const octet::DType type = p.type(0);
  const bool wants_indices = node.output(1).valid();
  if (wants_indices || !octet::is_float(type) || node.attr_ints("kernel_shape").size() > 3)
    return {};
  return [node](Call& c) {
    at::Tensor x = c.in(0);
    PoolAttrs a = resolve(node, x);
    const size_t n = a.kernel.size();
    if (!fits_torch(a)) {
      x = at::constant_pad_nd(x, all_pads(a), -std::numeric_limits<double>::infinity());
      a.pads.assign(2 * n, 0);
      a.ceil = false;
    }
    const at::IntArrayRef half(a.pads.data(), n);
    if (n == 1) c.out(at::max_pool1d(x, a.kernel, a.strides, half, a.dilations, a.ceil));
    if (n == 2) c.out(at::max_pool2d(x, a.kernel, a.strides, half, a.dilations, a.ceil));
    if (n == 3) c.out(at::max_pool3d(x, a.kernel, a.strides, half, a.dilations, a.ceil));
  };
}

OCTET_TORCH(onnx, GlobalAveragePool) {
  return [](Call& c) {
    const at::Tensor& x = c.in(0);
    c.out(x.dim() == 2 ? x : at::mean(x, spatial_axes(x), true)); // of no axis is of all
  };
}
OCTET_TORCH(onnx, GlobalMaxPool) {
  return [](Call& c) {
    const at::Tensor& x = c.in(0);
    if (x.numel() > 0) {
      c.out(x.dim() == 2 ? x : at::amax(x, spatial_axes(x), true));
      return;
    }
    std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
    std::copy_n(x.sizes().begin(), 2, shape.begin());
    c.out(at::full(shape, -std::numeric_limits<double>::infinity(), x.options()));
  };
}

OCTET_TORCH(onnx, LpPool) {
  const octet::Node node = p.node;
  const int64_t order = node.attr_int("p", 2);
  return [node, order](Call& c) {
    const at::Tensor x = widened(c.in(0));
    const PoolAttrs a = resolve(node, x);
    const at::Tensor powers = at::constant_pad_nd(norm_power(x, order), all_pads(a));
    c.out(norm_root(window_sum(powers, a), order).to(c.in(0).scalar_type()));
  };
}
OCTET_TORCH(onnx, GlobalLpPool) {
  const int64_t order = p.node.attr_int("p", 2);
  return [order](Call& c) {
    const at::Tensor x = widened(c.in(0));
    const at::Tensor powers = norm_power(x, order);
    const at::Tensor sum = x.dim() > 2 ? at::sum(powers, spatial_axes(x), true) : powers;
    c.out(norm_root(sum, order).to(c.in(0).scalar_type()));
  };
}

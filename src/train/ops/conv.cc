// SPDX-License-Identifier: Apache-2.0
// Conv and ConvTranspose.
#include <algorithm>

#include "train/fp8/layer.h"
#include "train/ops/lowered.h"
#include "train/ops/mapping.h"
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/convolution.h>

using octet::train::Call;
using octet::train::ints_or;
using octet::train::lowered;
using octet::train::resolve_pads;
using octet::train::torch_pads;

namespace {

struct ConvAttrs {
  std::vector<int64_t> strides, dilations, pads;
  int64_t group;
};

/// The attributes for an input x: [N, C, ...] and a weight w: [., ., ...].
ConvAttrs resolve(const octet::Node& node, const at::Tensor& x, const at::Tensor& w) {
  TORCH_CHECK(x.dim() >= 3 && x.dim() == w.dim(), "ranks ", x.dim(), " and ", w.dim(),
              " of the input and the weight; both need the same, 3 or more");
  const size_t n = static_cast<size_t>(x.dim()) - 2;
  ConvAttrs a{ints_or(node.attr_ints("strides"), n, 1),
              ints_or(node.attr_ints("dilations"), n, 1),
              {},
              node.attr_int("group", 1)};
  a.pads = resolve_pads(node, x.sizes().slice(2), w.sizes().slice(2), a.strides, a.dilations);
  return a;
}

bool symmetric(const std::vector<int64_t>& pads) {
  const size_t n = pads.size() / 2;
  for (size_t i = 0; i < n; ++i)
    if (pads[i] != pads[n + i] || pads[i] < 0) return false;
  return true;
}

at::Tensor
convolve(const Call& c, const at::Tensor& x, const ConvAttrs& a, const std::vector<int64_t>& pads) {
  const std::optional<at::Tensor> bias = c.has(2) ? std::optional(c.in(2)) : std::nullopt;
  const std::vector<int64_t> none(pads.size(), 0);
  if (c.fp8() == nullptr)
    return at::convolution(lowered(x), lowered(c.in(1)),
                           bias ? std::optional(lowered(*bias)) : std::nullopt, a.strides, pads,
                           a.dilations, false, none, a.group);
  at::Tensor y =
      c.fp8()->convolution(x, c.in(1), {a.strides, pads, a.dilations, a.group}, c.run().training);
  if (!bias) return y;
  std::vector<int64_t> shape(static_cast<size_t>(y.dim()), 1);
  shape[1] = -1;
  return y + bias->view(shape);
}

/// What ConvTranspose's output is cut and extended by: begins in `pads`, and extra elements at the
/// ends. Source: ONNX operator text, ConvTranspose, pads and output_shape.
std::vector<int64_t> transposed_extents(const octet::Node& node,
                                        const at::Tensor& x,
                                        const at::Tensor& w,
                                        const ConvAttrs& a,
                                        std::vector<int64_t>& pads) {
  const size_t n = a.strides.size();
  const std::vector<int64_t> extra = ints_or(node.attr_ints("output_padding"), n, 0);
  const std::vector<int64_t> wanted = node.attr_ints("output_shape");
  const std::string mode = node.attr_string("auto_pad", "NOTSET");
  pads = ints_or(node.attr_ints("pads"), 2 * n, 0);
  std::vector<int64_t> sizes(n);
  for (size_t i = 0; i < n; ++i) {
    const int64_t axis = static_cast<int64_t>(i) + 2;
    const int64_t full =
        (x.size(axis) - 1) * a.strides[i] + (w.size(axis) - 1) * a.dilations[i] + 1 + extra[i];
    const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
    if (!wanted.empty() || same) {
      const int64_t size = wanted.empty() ? std::min(x.size(axis) * a.strides[i], full)
                                          : wanted[wanted.size() - n + i];
      const int64_t total = std::max<int64_t>(full - size, 0);
      pads[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      pads[n + i] = total - pads[i];
      sizes[i] = size;
    } else {
      if (mode == "VALID") pads[i] = pads[n + i] = 0;
      sizes[i] = full - pads[i] - pads[n + i];
    }
  }
  return sizes;
}

} // namespace

OCTET_TORCH(onnx, Conv) {
  const octet::Node node = p.node;
  return [node](Call& c) {
    const at::Tensor &x = c.in(0), &w = c.in(1);
    const ConvAttrs a = resolve(node, x, w);
    const auto n = static_cast<std::ptrdiff_t>(a.strides.size());
    if (symmetric(a.pads))
      c.out(convolve(c, x, a, {a.pads.begin(), a.pads.begin() + n}));
    else
      c.out(convolve(c, at::constant_pad_nd(x, torch_pads(a.pads)), a,
                     std::vector<int64_t>(a.strides.size(), 0)));
  };
}

OCTET_TORCH(onnx, ConvTranspose) {
  const octet::Node node = p.node;
  return [node](Call& c) {
    const at::Tensor &x = c.in(0), &w = c.in(1);
    const size_t n = static_cast<size_t>(x.dim()) - 2;
    const ConvAttrs a{ints_or(node.attr_ints("strides"), n, 1),
                      ints_or(node.attr_ints("dilations"), n, 1),
                      {},
                      node.attr_int("group", 1)};
    std::vector<int64_t> pads;
    const std::vector<int64_t> sizes = transposed_extents(node, x, w, a, pads);
    const std::vector<int64_t> none(n, 0);
    at::Tensor y = at::convolution(lowered(x), lowered(w), std::nullopt, a.strides, none,
                                   a.dilations, true, none, a.group);
    // Cut or extend to the wanted extent: negative padding removes elements.
    std::vector<int64_t> change(2 * n);
    for (size_t i = 0; i < n; ++i) {
      change[i] = -pads[i];
      change[n + i] = sizes[i] - (y.size(static_cast<int64_t>(i) + 2) - pads[i]);
    }
    if (std::any_of(change.begin(), change.end(), [](int64_t v) { return v != 0; }))
      y = at::constant_pad_nd(y, torch_pads(change));
    if (c.has(2)) {
      std::vector<int64_t> shape(static_cast<size_t>(y.dim()), 1);
      shape[1] = -1;
      y = y + c.in(2).view(shape);
    }
    c.out(y);
  };
}

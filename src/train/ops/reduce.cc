// SPDX-License-Identifier: Apache-2.0
// Reductions over axes, which come as an attribute or, in later operator sets, as an input.
#include <algorithm>
#include <limits>

#include "train/ops/mapping.h"
#include <ATen/ops/abs.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/argmin.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/log.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/prod.h>
#include <ATen/ops/sum.h>

using octet::train::Apply;
using octet::train::Call;
using octet::train::Prepare;
using octet::train::wrap_axis;

namespace {

using Reduction = at::Tensor (*)(const at::Tensor& x, at::IntArrayRef axes, bool keep);

Apply reduction(const Prepare& p, Reduction reduce) {
  const std::vector<int64_t> attribute = p.node.attr_ints("axes");
  const bool keep = p.node.attr_int("keepdims", 1) != 0;
  const bool noop = p.node.attr_int("noop_with_empty_axes", 0) != 0;
  return [=](Call& c) {
    const at::Tensor& x = c.in(0);
    std::vector<int64_t> axes = c.has(1) ? c.ints(1) : attribute;
    if (axes.empty() && noop) {
      c.out(reduce(x.unsqueeze(0), {0}, false)); // the elementwise part of the operator alone
      return;
    }
    if (axes.empty())
      for (int64_t i = 0; i < x.dim(); ++i)
        axes.push_back(i);
    for (int64_t& axis : axes)
      axis = wrap_axis(axis, x.dim());
    c.out(axes.empty() ? reduce(x.unsqueeze(0), {0}, false) : reduce(x, axes, keep));
  };
}

/// x with one element of `value` along each reduced axis that is empty: what a maximum or minimum
/// of nothing is.
at::Tensor filled(const at::Tensor& x, at::IntArrayRef axes, double value) {
  if (x.numel() > 0 || !x.is_floating_point()) return x;
  std::vector<int64_t> pads(2 * static_cast<size_t>(x.dim()), 0);
  for (const int64_t axis : axes)
    if (x.size(axis) == 0) pads[2 * static_cast<size_t>(x.dim() - 1 - axis)] = 1;
  return at::constant_pad_nd(x, pads, value);
}

at::Tensor product(const at::Tensor& x, at::IntArrayRef axes, bool keep) {
  at::Tensor y = x;
  for (const int64_t axis : axes)
    y = at::prod(y, axis, true, x.scalar_type());
  if (keep) return y;
  std::vector<int64_t> sorted(axes.begin(), axes.end());
  std::sort(sorted.rbegin(), sorted.rend());
  for (const int64_t axis : sorted)
    y = y.squeeze(axis);
  return y;
}

at::Tensor sum(const at::Tensor& x, at::IntArrayRef axes, bool keep) {
  return at::sum(x, axes, keep, x.scalar_type());
}

template <at::Tensor (*Function)(const at::Tensor&, std::optional<int64_t>, bool)>
Apply arg_reduction(const Prepare& p) {
  const int64_t axis_attr = p.node.attr_int("axis", 0);
  const bool keep = p.node.attr_int("keepdims", 1) != 0;
  const bool last = p.node.attr_int("select_last_index", 0) != 0;
  return [=](Call& c) {
    const at::Tensor& x = c.in(0);
    const int64_t axis = wrap_axis(axis_attr, x.dim());
    if (last)
      c.out(x.size(axis) - 1 - Function(x.flip({axis}), axis, keep));
    else
      c.out(Function(x, axis, keep));
  };
}

} // namespace

OCTET_TORCH(onnx, ReduceSum) {
  return reduction(p, sum);
}
OCTET_TORCH(onnx, ReduceMean) {
  if (octet::is_integer(p.type(0))) return {};
  return reduction(p, [](const at::Tensor& x, at::IntArrayRef axes, bool keep) {
    return at::mean(x, axes, keep);
  });
}
OCTET_TORCH(onnx, ReduceMax) {
  if (p.type(0) == octet::DType::kBool) return {};
  return reduction(p, [](const at::Tensor& x, at::IntArrayRef axes, bool keep) {
    return at::amax(filled(x, axes, -std::numeric_limits<double>::infinity()), axes, keep);
  });
}
OCTET_TORCH(onnx, ReduceMin) {
  if (p.type(0) == octet::DType::kBool) return {};
  return reduction(p, [](const at::Tensor& x, at::IntArrayRef axes, bool keep) {
    return at::amin(filled(x, axes, std::numeric_limits<double>::infinity()), axes, keep);
  });
}
OCTET_TORCH(onnx, ReduceProd) {
  return reduction(p, product);
}
OCTET_TORCH(onnx, ReduceSumSquare) {
  return reduction(p, [](const at::Tensor& x, at::IntArrayRef axes, bool keep) {
    return sum(x * x, axes, keep);
  });
}
OCTET_TORCH(onnx, ReduceL1) {
  return reduction(p, [](const at::Tensor& x, at::IntArrayRef axes, bool keep) {
    return sum(at::abs(x), axes, keep);
  });
}
OCTET_TORCH(onnx, ReduceL2) {
  if (octet::is_integer(p.type(0))) return {};
  return reduction(p, [](const at::Tensor& x, at::IntArrayRef axes, bool keep) {
    return at::linalg_vector_norm(x, 2, axes, keep);
  });
}
OCTET_TORCH(onnx, ReduceLogSum) {
  return reduction(p, [](const at::Tensor& x, at::IntArrayRef axes, bool keep) {
    return at::log(sum(x, axes, keep));
  });
}
OCTET_TORCH(onnx, ReduceLogSumExp) {
  return reduction(p, [](const at::Tensor& x, at::IntArrayRef axes, bool keep) {
    return at::logsumexp(x, axes, keep);
  });
}
OCTET_TORCH(onnx, ArgMax) {
  return arg_reduction<at::argmax>(p);
}
OCTET_TORCH(onnx, ArgMin) {
  return arg_reduction<at::argmin>(p);
}

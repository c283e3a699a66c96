// SPDX-License-Identifier: Apache-2.0
// Operators that pick or place elements by index. Negative indices count from the end.
#include "train/ops/indices.h"
#include "train/ops/widened.h"
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cumprod.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/index.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/sort.h>
#include <ATen/ops/tril.h>
#include <ATen/ops/triu.h>
#include <ATen/ops/where.h>

using octet::train::Call;
using octet::train::nd_indices;
using octet::train::wrap_axis;
using octet::train::wrapped_indices;

namespace octet::train {

at::Tensor wrapped_indices(const at::Tensor& indices, const at::Tensor& data, int64_t size) {
  const at::Tensor i = indices.to(data.device(), at::kLong);
  return at::where(i < 0, i + size, i);
}

std::vector<at::Tensor>
nd_indices(const at::Tensor& indices, const at::Tensor& data, int64_t batch) {
  std::vector<at::Tensor> out;
  const int64_t depth = indices.size(-1);
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<int64_t> shape(static_cast<size_t>(indices.dim() - 1), 1);
    shape[static_cast<size_t>(b)] = -1;
    out.push_back(
        at::arange(data.size(b), at::TensorOptions(data.device()).dtype(at::kLong)).view(shape));
  }
  for (int64_t k = 0; k < depth; ++k)
    out.push_back(wrapped_indices(indices.select(-1, k), data, data.size(batch + k)));
  return out;
}

} // namespace octet::train

namespace {

/// The indices of a Gather. Those that shapes gave lie on the CPU: what the last run copied to the
/// data's device serves again where they are the same.
class GatherIndices {
 public:
  at::Tensor of(const at::Tensor& indices, const at::Tensor& data, int64_t size) {
    if (!indices.is_cpu() || data.is_cpu()) return wrapped_indices(indices, data, size);
    if (!here_.defined() || !here_.sizes().equals(indices.sizes()) ||
        here_.scalar_type() != indices.scalar_type() || !at::equal(here_, indices)) {
      here_ = indices;
      there_ = indices.to(at::TensorOptions(data.device()).dtype(at::kLong), /*non_blocking=*/true);
    }
    return wrapped_indices(there_, data, size);
  }

 private:
  at::Tensor here_, there_;
};

} // namespace

OCTET_TORCH(onnx, Gather) {
  const int64_t axis_attr = p.node.attr_int("axis", 0);
  return [axis_attr, indices = GatherIndices()](Call& c) mutable {
    const at::Tensor& x = c.in(0);
    const int64_t axis = wrap_axis(axis_attr, x.dim());
    const at::Tensor i = indices.of(c.in(1), x, x.size(axis));
    if (axis == 0 && x.dim() == 2 && x.is_floating_point()) {
      c.out(at::embedding(x, i));
      return;
    }
    std::vector<int64_t> shape(x.sizes().begin(), x.sizes().begin() + axis);
    shape.insert(shape.end(), i.sizes().begin(), i.sizes().end());
    shape.insert(shape.end(), x.sizes().begin() + axis + 1, x.sizes().end());
    c.out(at::index_select(x, axis, i.reshape({-1})).reshape(shape));
  };
}

OCTET_TORCH(onnx, GatherElements) {
  const int64_t axis_attr = p.node.attr_int("axis", 0);
  return [axis_attr](Call& c) {
    const int64_t axis = wrap_axis(axis_attr, c.in(0).dim());
    c.out(at::gather(c.in(0), axis, wrapped_indices(c.in(1), c.in(0), c.in(0).size(axis))));
  };
}

OCTET_TORCH(onnx, GatherND) {
  const int64_t batch = p.node.attr_int("batch_dims", 0);
  return [batch](Call& c) {
    c10::List<std::optional<at::Tensor>> indices;
    for (const at::Tensor& i : nd_indices(c.in(1), c.in(0), batch))
      indices.push_back(i);
    c.out(at::index(c.in(0), indices));
  };
}

OCTET_TORCH(onnx, Compress) {
  const bool flat = !p.node.has_attr("axis");
  const int64_t axis_attr = p.node.attr_int("axis", 0);
  return [=](Call& c) {
    const at::Tensor x = flat ? c.in(0).reshape({-1}) : c.in(0);
    const int64_t axis = wrap_axis(axis_attr, x.dim());
    TORCH_CHECK(c.in(1).numel() <= x.size(axis), "the condition has ", c.in(1).numel(),
                " entries for an axis of ", x.size(axis));
    c.out(at::index_select(x, axis, at::nonzero(c.in(1).to(x.device())).reshape({-1})));
  };
}

OCTET_TORCH(onnx, TopK) {
  const int64_t axis_attr = p.node.attr_int("axis", -1);
  const bool largest = p.node.attr_int("largest", 1) != 0;
  const int64_t attribute = p.node.attr_int("k", -1);
  const bool has_attribute = p.version < 10;
  return [=](Call& c) {
    const at::Tensor& x = c.in(0);
    const int64_t axis = wrap_axis(axis_attr, x.dim());
    const int64_t k = has_attribute ? attribute : c.ints(1).at(0);
    // Of equal elements the first comes first, which LibTorch's own topk does not promise.
    const auto [values, places] = at::sort(x, /*stable=*/true, axis, largest);
    c.out(values.narrow(axis, 0, k));
    c.out(places.narrow(axis, 0, k), 1);
  };
}

OCTET_TORCH(onnx, ReverseSequence) {
  const int64_t batch_axis = p.node.attr_int("batch_axis", 1);
  const int64_t time_axis = p.node.attr_int("time_axis", 0);
  return [=](Call& c) {
    const at::Tensor& x = c.in(0);
    const int64_t steps = x.size(time_axis);
    for (const int64_t length : c.ints(1))
      TORCH_CHECK(length >= 0 && length <= steps, "a sequence is ", length,
                  " long but the time axis holds ", steps);
    std::vector<int64_t> shape(static_cast<size_t>(x.dim()), 1);
    shape[static_cast<size_t>(time_axis)] = steps;
    const at::Tensor time =
        at::arange(steps, at::TensorOptions(x.device()).dtype(at::kLong)).view(shape);
    shape[static_cast<size_t>(time_axis)] = 1;
    shape[static_cast<size_t>(batch_axis)] = -1;
    const at::Tensor length = c.in(1).to(x.device(), at::kLong).view(shape);
    const at::Tensor from = at::where(time < length, length - 1 - time, time);
    c.out(at::gather(x, time_axis, from.expand(x.sizes())));
  };
}

OCTET_TORCH(onnx, Trilu) {
  const bool upper = p.node.attr_int("upper", 1) != 0;
  return [upper](Call& c) {
    const int64_t k = c.has(1) ? c.ints(1).at(0) : 0;
    c.out(upper ? at::triu(c.in(0), k) : at::tril(c.in(0), k));
  };
}

namespace {

/// x moved on by one along the axis, behind `first`: the last element, which may be infinite, is in
/// no sum.
at::Tensor behind(const at::Tensor& x, int64_t axis, int first) {
  if (x.size(axis) == 0) return x;
  std::vector<int64_t> one = x.sizes().vec();
  one[static_cast<size_t>(axis)] = 1;
  return at::cat({at::full(one, first, x.options()), x.narrow(axis, 0, x.size(axis) - 1)}, axis);
}

} // namespace

OCTET_TORCH(onnx, CumSum) {
  const bool exclusive = p.node.attr_int("exclusive", 0) != 0;
  const bool reverse = p.node.attr_int("reverse", 0) != 0;
  return [=](Call& c) {
    at::Tensor x = c.in(0);
    const int64_t axis = wrap_axis(c.ints(1).at(0), x.dim());
    if (reverse) x = x.flip({axis});
    if (exclusive) x = behind(x, axis, 0);
    const at::Tensor y = at::cumsum(x, axis, x.scalar_type());
    c.out(reverse ? y.flip({axis}) : y);
  };
}

OCTET_TORCH(onnx, CumProd) {
  const bool exclusive = p.node.attr_int("exclusive", 0) != 0;
  const bool reverse = p.node.attr_int("reverse", 0) != 0;
  return [=](Call& c) {
    const at::Tensor& given = c.in(0);
    // Its gradient has no deterministic kernel on other devices.
    at::Tensor x = given.to(at::kCPU);
    if (x.is_floating_point()) x = octet::train::widened(x);
    const int64_t axis = wrap_axis(c.ints(1).at(0), x.dim());
    if (reverse) x = x.flip({axis});
    if (exclusive) x = behind(x, axis, 1);
    const at::Tensor y = at::cumprod(x, axis, x.scalar_type());
    c.out((reverse ? y.flip({axis}) : y).to(given.options()));
  };
}

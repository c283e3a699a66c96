// SPDX-License-Identifier: Apache-2.0
// Operators that pick or place elements by index. Negative indices count from the end.
#include "train/ops/mapping.h"
#include <ATen/ops/arange.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/index.h>
#include <ATen/ops/index_put.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/scatter.h>
#include <ATen/ops/tril.h>
#include <ATen/ops/triu.h>
#include <ATen/ops/where.h>

using octet::train::Call;
using octet::train::wrap_axis;

namespace {

/// Indices as i64 on the device of the data, from 0 to size - 1.
at::Tensor wrapped(const at::Tensor& indices, const at::Tensor& data, int64_t size) {
  const at::Tensor i = indices.to(data.device(), at::kLong);
  return at::where(i < 0, i + size, i);
}

/// The indices of a Gather. Those that shapes gave lie on the CPU: what the last run copied to the
/// data's device serves again where they are the same.
class GatherIndices {
 public:
  at::Tensor of(const at::Tensor& indices, const at::Tensor& data, int64_t size) {
    if (!indices.is_cpu() || data.is_cpu()) return wrapped(indices, data, size);
    if (!here_.defined() || !here_.sizes().equals(indices.sizes()) ||
        here_.scalar_type() != indices.scalar_type() || !at::equal(here_, indices)) {
      here_ = indices;
      there_ = indices.to(at::TensorOptions(data.device()).dtype(at::kLong), /*non_blocking=*/true);
    }
    return wrapped(there_, data, size);
  }

 private:
  at::Tensor here_, there_;
};

/// The index tensors for GatherND and ScatterND: one for each axis that the last axis of `indices`
/// spans, after `batch` leading axes.
c10::List<std::optional<at::Tensor>>
nd_indices(const at::Tensor& indices, const at::Tensor& data, int64_t batch) {
  c10::List<std::optional<at::Tensor>> out;
  const int64_t depth = indices.size(-1);
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<int64_t> shape(static_cast<size_t>(indices.dim() - 1), 1);
    shape[static_cast<size_t>(b)] = -1;
    out.push_back(
        at::arange(data.size(b), at::TensorOptions(data.device()).dtype(at::kLong)).view(shape));
  }
  for (int64_t k = 0; k < depth; ++k)
    out.push_back(wrapped(indices.select(-1, k), data, data.size(batch + k)));
  return out;
}

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
    c.out(at::gather(c.in(0), axis, wrapped(c.in(1), c.in(0), c.in(0).size(axis))));
  };
}

OCTET_TORCH(onnx, GatherND) {
  const int64_t batch = p.node.attr_int("batch_dims", 0);
  return [batch](Call& c) { c.out(at::index(c.in(0), nd_indices(c.in(1), c.in(0), batch))); };
}

OCTET_TORCH(onnx, ScatterElements) {
  if (p.node.attr_string("reduction", "none") != "none") return {};
  const int64_t axis_attr = p.node.attr_int("axis", 0);
  return [axis_attr](Call& c) {
    const int64_t axis = wrap_axis(axis_attr, c.in(0).dim());
    c.out(at::scatter(c.in(0), axis, wrapped(c.in(1), c.in(0), c.in(0).size(axis)), c.in(2)));
  };
}

OCTET_TORCH(onnx, ScatterND) {
  const std::string reduction = p.node.attr_string("reduction", "none");
  if (reduction != "none" && reduction != "add") return {};
  const bool add = reduction == "add";
  return [add](Call& c) {
    c.out(at::index_put(c.in(0), nd_indices(c.in(1), c.in(0), 0), c.in(2), add));
  };
}

OCTET_TORCH(onnx, Trilu) {
  const bool upper = p.node.attr_int("upper", 1) != 0;
  return [upper](Call& c) {
    const int64_t k = c.has(1) ? c.ints(1).at(0) : 0;
    c.out(upper ? at::triu(c.in(0), k) : at::tril(c.in(0), k));
  };
}

OCTET_TORCH(onnx, CumSum) {
  const bool exclusive = p.node.attr_int("exclusive", 0) != 0;
  const bool reverse = p.node.attr_int("reverse", 0) != 0;
  return [=](Call& c) {
    const at::Tensor& x = c.in(0);
    const int64_t axis = wrap_axis(c.ints(1).at(0), x.dim());
    at::Tensor y = at::cumsum(reverse ? x.flip({axis}) : x, axis, x.scalar_type());
    if (exclusive) y = y - (reverse ? x.flip({axis}) : x);
    c.out(reverse ? y.flip({axis}) : y);
  };
}

// SPDX-License-Identifier: Apache-2.0
// Operators that change the shape and no element.
#include <algorithm>
#include <numeric>

#include "train/ops/mapping.h"
#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/permute.h>
#include <ATen/ops/reshape.h>
#include <ATen/ops/split_with_sizes.h>
#include <ATen/ops/tile.h>

using octet::train::Call;
using octet::train::wrap_axis;

namespace {

at::Tensor int_tensor(const std::vector<int64_t>& values) {
  return at::from_blob(const_cast<int64_t*>(values.data()), {static_cast<int64_t>(values.size())},
                       at::kLong)
      .clone();
}

/// Axes from the attribute, or from an input in later operator sets; empty when neither is there.
std::vector<int64_t> axes_of(const Call& c, const std::vector<int64_t>& attribute, size_t input) {
  return c.has(input) ? c.ints(input) : attribute;
}

} // namespace

OCTET_TORCH(onnx, Reshape) {
  const bool allow_zero = p.node.attr_int("allowzero", 0) != 0;
  const std::vector<int64_t> attribute = p.node.attr_ints("shape");
  return [=](Call& c) {
    const at::Tensor& x = c.in(0);
    std::vector<int64_t> shape = axes_of(c, attribute, 1);
    for (size_t i = 0; !allow_zero && i < shape.size(); ++i)
      if (shape[i] == 0) shape[i] = x.size(static_cast<int64_t>(i));
    c.out(at::reshape(x, shape));
  };
}

OCTET_TORCH(onnx, Flatten) {
  const int64_t axis = p.node.attr_int("axis", 1);
  return [axis](Call& c) {
    const at::Tensor& x = c.in(0);
    const int64_t split = axis < 0 ? axis + x.dim() : axis;
    TORCH_CHECK(split >= 0 && split <= x.dim(), "axis ", axis, " out of range for rank ", x.dim());
    int64_t rows = 1;
    for (int64_t i = 0; i < split; ++i)
      rows *= x.size(i);
    c.out(at::reshape(x, {rows, rows == 0 ? 0 : x.numel() / rows}));
  };
}

OCTET_TORCH(onnx, Transpose) {
  const std::vector<int64_t> perm = p.node.attr_ints("perm");
  return [perm](Call& c) {
    if (!perm.empty()) {
      c.out(at::permute(c.in(0), perm));
      return;
    }
    std::vector<int64_t> reversed(static_cast<size_t>(c.in(0).dim()));
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    c.out(at::permute(c.in(0), reversed));
  };
}

OCTET_TORCH(onnx, Squeeze) {
  const std::vector<int64_t> attribute = p.node.attr_ints("axes");
  return [attribute](Call& c) {
    const at::Tensor& x = c.in(0);
    std::vector<int64_t> axes = axes_of(c, attribute, 1), shape;
    for (int64_t& axis : axes)
      axis = wrap_axis(axis, x.dim());
    for (int64_t i = 0; i < x.dim(); ++i) {
      const bool named = std::find(axes.begin(), axes.end(), i) != axes.end();
      TORCH_CHECK(!named || x.size(i) == 1, "axis ", i, " has size ", x.size(i), " and not 1");
      if (!(named || (axes.empty() && x.size(i) == 1))) shape.push_back(x.size(i));
    }
    c.out(at::reshape(x, shape));
  };
}

OCTET_TORCH(onnx, Unsqueeze) {
  const std::vector<int64_t> attribute = p.node.attr_ints("axes");
  return [attribute](Call& c) {
    std::vector<int64_t> axes = axes_of(c, attribute, 1);
    const int64_t rank = c.in(0).dim() + static_cast<int64_t>(axes.size());
    for (int64_t& axis : axes)
      axis = wrap_axis(axis, rank);
    std::sort(axes.begin(), axes.end());
    at::Tensor y = c.in(0);
    for (const int64_t axis : axes)
      y = y.unsqueeze(axis);
    c.out(y);
  };
}

OCTET_TORCH(onnx, Expand) {
  return [](Call& c) {
    // Sizes of 1 in the wanted shape keep the input's: broadcasting both ways.
    std::vector<int64_t> shape = c.ints(1);
    const at::Tensor& x = c.in(0);
    while (static_cast<int64_t>(shape.size()) < x.dim())
      shape.insert(shape.begin(), 1);
    for (int64_t i = 0; i < x.dim(); ++i) {
      int64_t& wanted = shape[shape.size() - 1 - static_cast<size_t>(i)];
      if (wanted == 1) wanted = x.size(x.dim() - 1 - i);
    }
    c.out(x.expand(shape));
  };
}

OCTET_TORCH(onnx, Tile) {
  return [](Call& c) { c.out(at::tile(c.in(0), c.ints(1))); };
}

OCTET_TORCH(onnx, Shape) {
  const int64_t start = p.node.attr_int("start", 0);
  const int64_t end = p.node.attr_int("end", INT64_MAX);
  return [=](Call& c) {
    const int64_t rank = c.in(0).dim();
    const int64_t from = std::clamp<int64_t>(start < 0 ? start + rank : start, 0, rank);
    const int64_t to = std::clamp<int64_t>(end < 0 ? end + rank : end, 0, rank);
    std::vector<int64_t> shape;
    for (int64_t i = from; i < to; ++i)
      shape.push_back(c.in(0).size(i));
    c.out(int_tensor(shape));
  };
}

OCTET_TORCH(onnx, Size) {
  return [](Call& c) { c.out(int_tensor({c.in(0).numel()}).reshape({})); };
}

OCTET_TORCH(onnx, Concat) {
  const int64_t axis = p.node.attr_int("axis", 1);
  return [axis](Call& c) {
    std::vector<at::Tensor> parts;
    for (size_t i = 0; i < c.inputs(); ++i)
      parts.push_back(c.in(i).to(c.in(0).device()));
    c.out(at::cat(parts, axis));
  };
}

OCTET_TORCH(onnx, Split) {
  const int64_t axis = p.node.attr_int("axis", 0);
  const std::vector<int64_t> attribute = p.node.attr_ints("split");
  const int64_t outputs = static_cast<int64_t>(p.node.outputs.size());
  return [=](Call& c) {
    const at::Tensor& x = c.in(0);
    std::vector<int64_t> sizes = axes_of(c, attribute, 1);
    if (sizes.empty()) {
      const int64_t total = x.size(axis), part = (total + outputs - 1) / outputs;
      for (int64_t i = 0; i < outputs; ++i)
        sizes.push_back(std::clamp<int64_t>(total - i * part, 0, part));
    }
    std::vector<at::Tensor> parts = at::split_with_sizes(x, sizes, axis);
    for (size_t i = 0; i < parts.size(); ++i)
      c.out(parts[i], i);
  };
}

// SPDX-License-Identifier: Apache-2.0
// Operators that put elements, or combine them with what is there, by index. Negative indices count
// from the end.
#include <optional>
#include <string>

#include "train/ops/indices.h"
#include <ATen/ops/index_put.h>
#include <ATen/ops/scatter.h>
#include <ATen/ops/scatter_add.h>
#include <ATen/ops/scatter_reduce.h>

using octet::train::Apply;
using octet::train::Call;
using octet::train::nd_indices;
using octet::train::Prepare;
using octet::train::wrap_axis;
using octet::train::wrapped_indices;

namespace {

/// LibTorch's word for a reduction other than none and add; nothing: no such reduction.
std::optional<std::string> torch_reduction(const std::string& reduction) {
  if (reduction == "mul") return "prod";
  if (reduction == "max") return "amax";
  if (reduction == "min") return "amin";
  return std::nullopt;
}

at::Tensor scatter_reduced(const at::Tensor& x,
                           int64_t axis,
                           const at::Tensor& index,
                           const at::Tensor& updates,
                           const std::string& reduction) {
  // Products of floats have no deterministic kernel on other devices.
  const c10::Device device = x.device();
  return at::scatter_reduce(x.to(at::kCPU), axis, index.to(at::kCPU), updates.to(at::kCPU),
                            reduction, /*include_self=*/true)
      .to(device);
}

Apply scatter_elements(const Prepare& p) {
  const int64_t axis_attr = p.node.attr_int("axis", 0);
  const std::string reduction = p.node.attr_string("reduction", "none");
  const bool add = reduction == "add";
  const std::optional<std::string> reduce = torch_reduction(reduction);
  if (reduction != "none" && (p.type(0) == octet::DType::kBool || (!add && !reduce))) return {};
  return [=](Call& c) {
    const at::Tensor& x = c.in(0);
    const int64_t axis = wrap_axis(axis_attr, x.dim());
    const at::Tensor index = wrapped_indices(c.in(1), x, x.size(axis));
    if (reduce)
      c.out(scatter_reduced(x, axis, index, c.in(2), *reduce));
    else
      c.out(add ? at::scatter_add(x, axis, index, c.in(2)) : at::scatter(x, axis, index, c.in(2)));
  };
}

/// Each slice of `updates` combined with the slice of x that its indices name.
at::Tensor scatter_slices(const at::Tensor& x,
                          const std::vector<at::Tensor>& indices,
                          const at::Tensor& updates,
                          const std::string& reduction) {
  at::Tensor place = indices[0];
  int64_t places = x.size(0);
  for (size_t k = 1; k < indices.size(); ++k) {
    const int64_t size = x.size(static_cast<int64_t>(k));
    place = place * size + indices[k];
    places *= size;
  }
  const at::Tensor rows = x.reshape({places, places == 0 ? 0 : x.numel() / places});
  const at::Tensor from = updates.reshape({place.numel(), rows.size(1)});
  const at::Tensor index = place.reshape({-1, 1}).expand(from.sizes());
  return scatter_reduced(rows, 0, index, from, reduction).reshape(x.sizes());
}

} // namespace

OCTET_TORCH(onnx, ScatterElements) {
  return scatter_elements(p);
}

// Its name before operator set 11.
OCTET_TORCH(onnx, Scatter) {
  return scatter_elements(p);
}

OCTET_TORCH(onnx, ScatterND) {
  const std::string reduction = p.node.attr_string("reduction", "none");
  const bool add = reduction == "add";
  const std::optional<std::string> reduce = torch_reduction(reduction);
  if (reduction != "none" && (p.type(0) == octet::DType::kBool || (!add && !reduce))) return {};
  return [=](Call& c) {
    const std::vector<at::Tensor> indices = nd_indices(c.in(1), c.in(0), 0);
    if (reduce) {
      c.out(scatter_slices(c.in(0), indices, c.in(2), *reduce));
      return;
    }
    c10::List<std::optional<at::Tensor>> list;
    for (const at::Tensor& i : indices)
      list.push_back(i);
    c.out(at::index_put(c.in(0), list, c.in(2), add));
  };
}

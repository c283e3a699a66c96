// SPDX-License-Identifier: Apache-2.0
// Slice, Pad and CenterCropPad.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "ops/shared/padding.h"
#include "train/ops/mapping.h"
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/slice.h>

using octet::PadMode;
using octet::train::Call;
using octet::train::ints_or;
using octet::train::torch_pads;
using octet::train::wrap_axis;

namespace {

/// x[start:end:step] along one axis, with ONNX's clamping; a negative step walks backwards.
at::Tensor slice_axis(const at::Tensor& x, int64_t axis, int64_t start, int64_t end, int64_t step) {
  TORCH_CHECK(step != 0, "a step of 0");
  const int64_t size = x.size(axis);
  if (start < 0) start += size;
  if (end < 0 && end >= -size) end += size;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, size);
    end = std::clamp<int64_t>(end, 0, size);
    return at::slice(x, axis, start, std::max(start, end), step);
  }
  start = std::clamp<int64_t>(start, 0, size - 1);
  end = std::clamp<int64_t>(end, -1, size - 1);
  if (start <= end || size == 0) return at::slice(x, axis, 0, 0);
  // Elements start, start + step, ... above end: the same set read forwards, then turned around.
  const int64_t count = (start - end - step - 1) / -step;
  return at::flip(at::slice(x, axis, start + (count - 1) * step, start + 1, -step), {axis});
}

/// Which elements of an axis stand along it once it is padded in one of the modes that repeat some;
/// kept for the sizes that were met.
class PadIndices {
 public:
  at::Tensor of(const at::Tensor& x, int64_t axis, int64_t before, int64_t after, PadMode mode) {
    constexpr size_t kMost = 256;
    if (held_.size() >= kMost) held_.clear();
    const int64_t size = x.size(axis), padded = size + before + after;
    TORCH_CHECK(padded >= 0 && (size > 0 || padded == 0), "pads ", before, " and ", after,
                " for an axis of ", size);
    at::Tensor& index = held_[{size, before, after}];
    if (index.defined() && index.device() == x.device()) return index;
    const at::Tensor here = at::empty({padded}, at::kLong);
    for (int64_t i = 0; i < padded; ++i)
      here.mutable_data_ptr<int64_t>()[i] = octet::pad_source(i - before, size, mode);
    return index = here.to(x.device());
  }

 private:
  std::map<std::array<int64_t, 3>, at::Tensor> held_;
};

/// Without any element where a negative pad takes more than there are: LibTorch refuses that. The
/// other pad then says how many are filled.
at::Tensor without_lost(const at::Tensor& x, int64_t axis, int64_t& before, int64_t& after) {
  const int64_t size = x.size(axis), padded = size + before + after;
  if ((-before <= size && -after <= size) || padded < 0) return x;
  before = padded;
  after = 0;
  return x.narrow(axis, 0, 0);
}

} // namespace

OCTET_TORCH(onnx, Slice) {
  const std::vector<int64_t> starts_attr = p.node.attr_ints("starts");
  const std::vector<int64_t> ends_attr = p.node.attr_ints("ends");
  const std::vector<int64_t> axes_attr = p.node.attr_ints("axes");
  return [=](Call& c) {
    const std::vector<int64_t> starts = c.has(1) ? c.ints(1) : starts_attr;
    const std::vector<int64_t> ends = c.has(2) ? c.ints(2) : ends_attr;
    std::vector<int64_t> axes = c.has(3) ? c.ints(3) : axes_attr;
    const std::vector<int64_t> steps =
        ints_or(c.has(4) ? c.ints(4) : std::vector<int64_t>{}, starts.size(), 1);
    if (axes.empty()) {
      axes.resize(starts.size());
      std::iota(axes.begin(), axes.end(), 0);
    }
    TORCH_CHECK(ends.size() == starts.size() && axes.size() == starts.size(),
                "starts, ends and axes have different lengths");
    at::Tensor y = c.in(0);
    for (size_t i = 0; i < starts.size(); ++i)
      y = slice_axis(y, wrap_axis(axes[i], y.dim()), starts[i], ends[i], steps[i]);
    c.out(y);
  };
}

OCTET_TORCH(onnx, Pad) {
  const octet::Result<PadMode> mode = octet::pad_mode(p.node);
  TORCH_CHECK(mode.ok(), mode.error().text());
  const std::vector<int64_t> attribute = p.node.attr_ints("pads");
  const double value = p.node.attr_float("value", 0.0F);
  const std::optional<double> known = p.number(2);
  return [=, mode = *mode, indices = PadIndices()](Call& c) mutable {
    const at::Tensor& x = c.in(0);
    const std::vector<int64_t> given = c.has(1) ? c.ints(1) : attribute;
    const size_t rank = static_cast<size_t>(x.dim());
    std::vector<int64_t> pads = given;
    if (c.has(3)) {
      const std::vector<int64_t> axes = c.ints(3);
      pads.assign(2 * rank, 0);
      TORCH_CHECK(given.size() == 2 * axes.size(), "pads has ", given.size(), " values for ",
                  axes.size(), " axes");
      for (size_t i = 0; i < axes.size(); ++i) {
        const size_t axis = static_cast<size_t>(wrap_axis(axes[i], x.dim()));
        pads[axis] = given[i];
        pads[rank + axis] = given[axes.size() + i];
      }
    }
    TORCH_CHECK(pads.size() == 2 * rank, "pads has ", pads.size(), " values for rank ", rank);
    at::Tensor y = x;
    if (mode == PadMode::kConstant) {
      for (size_t axis = 0; axis < rank; ++axis)
        y = without_lost(y, static_cast<int64_t>(axis), pads[axis], pads[rank + axis]);
      c.out(at::constant_pad_nd(y, torch_pads(pads), c.has(2) ? c.number(2, known) : value));
      return;
    }
    for (size_t axis = 0; axis < rank; ++axis)
      if (pads[axis] != 0 || pads[rank + axis] != 0)
        y = at::index_select(
            y, static_cast<int64_t>(axis),
            indices.of(y, static_cast<int64_t>(axis), pads[axis], pads[rank + axis], mode));
    c.out(y);
  };
}

OCTET_TORCH(onnx, CenterCropPad) {
  const bool all = !p.node.has_attr("axes");
  const std::vector<int64_t> given = p.node.attr_ints("axes");
  return [=](Call& c) {
    const at::Tensor& x = c.in(0);
    const std::vector<int64_t> sizes = c.ints(1);
    const auto rank = static_cast<size_t>(x.dim());
    std::vector<int64_t> axes = given;
    if (all) {
      axes.resize(rank);
      std::iota(axes.begin(), axes.end(), 0);
    }
    TORCH_CHECK(sizes.size() == axes.size(), "shape has ", sizes.size(), " entries for ",
                axes.size(), " axes");
    std::vector<int64_t> pads(2 * rank, 0); // below 0: cut off
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto axis = static_cast<size_t>(wrap_axis(axes[i], x.dim()));
      const int64_t more = sizes[i] - x.size(static_cast<int64_t>(axis));
      pads[axis] = more / 2; // towards zero: the odd element is at the end either way
      pads[rank + axis] = more - more / 2;
    }
    c.out(at::constant_pad_nd(x, torch_pads(pads)));
  };
}

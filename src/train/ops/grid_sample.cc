// SPDX-License-Identifier: Apache-2.0
// GridSample and AffineGrid. Linear images and volumes on the CPU go to LibTorch's kernel. It has
// another idea of nearest between two elements and of cubic beyond the edge, no cubic volumes and,
// on other devices, no deterministic gradient: there the elements around each place are gathered and
// weighted here.
#include "ops/shared/grid_sample.h"

#include <cmath>

#include "train/ops/mapping.h"
#include "train/ops/widened.h"
#include <ATen/ops/abs.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/fmod.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/grid_sampler.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/round.h>
#include <ATen/ops/trunc.h>
#include <ATen/ops/where.h>

using octet::Beyond;
using octet::GridSampleAttrs;
using octet::SampledAxis;
using octet::Sampling;
using octet::train::Call;
using octet::train::widened;

namespace {

/// Places mirrored at `low` and `high` until they lie between; see octet::sampling::mirrored.
at::Tensor mirrored_places(const at::Tensor& place, double low, double high) {
  const double range = high - low;
  if (range <= 0) return at::full_like(place, low);
  const at::Tensor below = place < low;
  const at::Tensor distance = at::where(below, low - place, place - high);
  const at::Tensor turns = at::trunc(distance.detach() / range);
  const at::Tensor rest = distance - turns * range;
  const at::Tensor even = at::fmod(turns, 2) == 0;
  return at::where(distance <= 0, place, at::where(below == even, low + rest, high - rest));
}

/// For each place the elements of one axis around it, and their weights.
struct GridTaps {
  std::vector<at::Tensor> index, weight;
};

/// octet::grid_taps of all coordinates in `grid`, in double as there.
GridTaps all_grid_taps(const GridSampleAttrs& a, int64_t size, const at::Tensor& grid) {
  const SampledAxis axis = octet::grid_axis(a, size);
  const auto count = static_cast<double>(size);
  const double last = count - 1, far = octet::sampling::kFar;
  at::Tensor place = a.align_corners ? (grid + 1) / 2 * last : ((grid + 1) * count - 1) / 2;
  place = at::nan_to_num(place, -far, far, -far).clamp(-far, far);
  if (a.mode == Sampling::kNearest) place = at::round(place);
  if (a.beyond == Beyond::kEdge)
    place = place.clamp(std::min(axis.low, 0.0), std::max(axis.high, last));
  if (a.beyond == Beyond::kMirror) place = mirrored_places(place, axis.low, axis.high);
  at::Tensor first = at::floor(place.detach());
  const at::Tensor rest = place - first;
  GridTaps taps;
  if (a.mode == Sampling::kNearest) {
    taps.weight = {at::full_like(rest, 1)};
  } else if (a.mode == Sampling::kLinear) {
    taps.weight = {1 - rest, rest};
  } else {
    constexpr double kA = -0.75; // octet::sampling::cubic_weights
    const auto outer = [](const at::Tensor& d) {
      return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA;
    };
    const auto inner = [](const at::Tensor& d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
    taps.weight = {outer(rest + 1), inner(rest), inner(1 - rest), outer(2 - rest)};
    first = first - 1;
  }
  for (size_t i = 0; i < taps.weight.size(); ++i) {
    at::Tensor at = first + static_cast<double>(i);
    if (a.beyond == Beyond::kZeros)
      taps.weight[i] = taps.weight[i].masked_fill((at < 0).logical_or(at > last), 0);
    if (a.beyond == Beyond::kMirror) at = at::trunc(mirrored_places(at, axis.low, axis.high));
    taps.index.push_back(at.clamp(0, last).to(at::kLong));
  }
  return taps;
}

/// The weighted sum over all combinations of the axes' taps from `axis` on. flat: [N, C, elements],
/// index and weight: [N, places].
at::Tensor gathered(const at::Tensor& flat,
                    const std::vector<GridTaps>& taps,
                    at::IntArrayRef spatial,
                    size_t axis,
                    const at::Tensor& index,
                    const at::Tensor& weight) {
  if (axis == taps.size()) {
    const at::Tensor each = index.unsqueeze(1).expand({flat.size(0), flat.size(1), index.size(1)});
    return at::gather(flat, 2, each) * weight.unsqueeze(1).to(flat.scalar_type());
  }
  at::Tensor sum;
  for (size_t i = 0; i < taps[axis].index.size(); ++i) {
    const at::Tensor& own = taps[axis].index[i];
    const at::Tensor part =
        gathered(flat, taps, spatial, axis + 1, index.defined() ? index * spatial[axis] + own : own,
                 weight.defined() ? weight * taps[axis].weight[i] : taps[axis].weight[i]);
    sum = sum.defined() ? sum + part : part;
  }
  return sum;
}

at::Tensor grid_sampled(const GridSampleAttrs& a, const at::Tensor& x, const at::Tensor& grid) {
  const at::IntArrayRef spatial = x.sizes().slice(2);
  const auto axes = static_cast<int64_t>(spatial.size());
  const at::Tensor places = grid.to(at::kDouble).reshape({grid.size(0), -1, axes});
  std::vector<GridTaps> taps;
  for (int64_t i = 0; i < axes; ++i)
    taps.push_back(
        all_grid_taps(a, spatial[static_cast<size_t>(i)], places.select(2, axes - 1 - i)));
  const at::Tensor y =
      gathered(x.reshape({x.size(0), x.size(1), -1}), taps, spatial, 0, at::Tensor(), at::Tensor());
  std::vector<int64_t> shape{x.size(0), x.size(1)};
  shape.insert(shape.end(), grid.sizes().begin() + 1, grid.sizes().end() - 1);
  return y.reshape(shape);
}

} // namespace

OCTET_TORCH(onnx, GridSample) {
  if (!octet::is_float(p.type(0)) || !octet::is_float(p.type(1))) return {};
  const octet::Result<GridSampleAttrs> parsed = octet::parse_grid_sample(p.node);
  TORCH_CHECK(parsed.ok(), parsed.error().text());
  return [a = *parsed](Call& c) {
    const at::Tensor x = widened(c.in(0));
    const at::Tensor& grid = c.in(1);
    TORCH_CHECK(x.dim() == grid.dim() && grid.size(-1) == x.dim() - 2, "ranks ", x.dim(), " and ",
                grid.dim(), " of x and grid, ", grid.size(-1), " coordinates");
    at::Tensor y;
    if (x.is_cpu() && a.mode == Sampling::kLinear && x.dim() > 3)
      y = at::grid_sampler(x, grid.to(x.scalar_type()), /*interpolation_mode=*/0,
                           static_cast<int64_t>(a.beyond), a.align_corners);
    else
      y = grid_sampled(a, x, grid);
    c.out(y.to(c.in(0).scalar_type()));
  };
}

OCTET_TORCH(onnx, AffineGrid) {
  const bool align_corners = p.node.attr_int("align_corners", 0) != 0;
  return [align_corners](Call& c) {
    const at::Tensor theta = widened(c.in(0));
    const std::vector<int64_t> size = c.ints(1);
    TORCH_CHECK(size.size() == 4 || size.size() == 5, "size has ", size.size(), " entries");
    const std::vector<int64_t> spatial(size.begin() + 2, size.end());
    const auto axes = static_cast<int64_t>(spatial.size());
    // The places [points, axes + 1] of all elements, the innermost axis first, then ones.
    std::vector<int64_t> wide = spatial;
    wide.push_back(1);
    std::vector<at::Tensor> columns;
    for (int64_t i = axes - 1; i >= 0; --i) {
      const auto n = static_cast<double>(spatial[static_cast<size_t>(i)]);
      const at::Tensor at = at::arange(spatial[static_cast<size_t>(i)], theta.options());
      const at::Tensor place = !align_corners ? (2 * at + 1) / n - 1
                               : n > 1        ? 2 * at / (n - 1) - 1
                                              : at - 1;
      std::vector<int64_t> shape(wide.size(), 1);
      shape[static_cast<size_t>(i)] = -1;
      columns.push_back(place.view(shape).expand(wide));
    }
    columns.push_back(at::ones(wide, theta.options()));
    const at::Tensor base = at::cat(columns, -1).view({-1, axes + 1});
    std::vector<int64_t> shape{theta.size(0)};
    shape.insert(shape.end(), spatial.begin(), spatial.end());
    shape.push_back(axes);
    c.out(at::matmul(base, theta.transpose(1, 2)).reshape(shape).to(c.in(0).scalar_type()));
  };
}

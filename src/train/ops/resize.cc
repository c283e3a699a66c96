// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample: along each axis a linear map with the reference's own weights. Nearest picks
// one element for each place; other modes multiply by a matrix where the axis is short, which takes
// a third of the time, and sum weighted picks where it is long.
#include "ops/shared/resize.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "train/convert.h"
#include "train/ops/mapping.h"
#include "train/ops/widened.h"
#include <ATen/ops/addcmul.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mul.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

using octet::Interpolation;
using octet::ResizeAttrs;
using octet::ResizeAxis;
using octet::ResizeMode;
using octet::train::Apply;
using octet::train::Call;
using octet::train::Prepare;

namespace {

/// Up to which size of an axis a dense matrix is faster than picks.
constexpr int64_t kShortAxis = 128;

/// What the places of y are made of along one axis: tap k of each has the element index[k][place],
/// times weight[k][place].
struct AxisMap {
  bool unchanged = false;
  int64_t repeats = 0; ///< above 0: each element that often, one behind the other
  std::vector<at::Tensor> index;
  std::vector<at::Tensor> weight; ///< none: all are 1
  at::Tensor matrix;              ///< [places, elements]; undefined: taps are summed
  at::Tensor outside;             ///< places that take the extrapolation value; undefined: none
};

at::Tensor of_numbers(const std::vector<double>& values, const at::TensorOptions& options) {
  const at::Tensor t = at::empty({static_cast<int64_t>(values.size())}, at::kDouble);
  std::copy(values.begin(), values.end(), t.mutable_data_ptr<double>());
  return t.to(options);
}

at::Tensor matrix_of(const std::vector<std::vector<double>>& index,
                     const std::vector<std::vector<double>>& weight,
                     const ResizeAxis& axis) {
  std::vector<double> all(static_cast<size_t>(axis.out * axis.in), 0.0);
  for (size_t k = 0; k < index.size(); ++k)
    for (size_t place = 0; place < index[k].size(); ++place)
      all[place * static_cast<size_t>(axis.in) + static_cast<size_t>(index[k][place])] +=
          weight[k][place];
  return of_numbers(all, at::kDouble).view({axis.out, axis.in});
}

/// Taps with a weight, for each place; a place with fewer than others repeats its last with 0.
AxisMap make_map(const ResizeMode& mode, const ResizeAxis& axis, const at::TensorOptions& options) {
  const auto places = static_cast<size_t>(axis.out);
  std::vector<std::vector<double>> index, weight;
  std::vector<double> outside(places, 0);
  bool any_outside = false;
  for (size_t place = 0; place < places; ++place) {
    const octet::ResizeWeights w = octet::resize_weights(mode, axis, static_cast<int64_t>(place));
    outside[place] = w.outside ? 1 : 0;
    any_outside = any_outside || w.outside;
    size_t taps = 0;
    for (size_t k = 0; k < w.weight.size(); ++k) {
      if (w.weight[k] == 0) continue;
      if (taps == index.size()) {
        index.emplace_back(places, 0.0);
        weight.emplace_back(places, 0.0);
        if (taps > 0) index[taps] = index[taps - 1];
      }
      for (size_t rest = taps; rest < index.size(); ++rest)
        index[rest][place] = static_cast<double>(w.index[k]);
      weight[taps++][place] = w.weight[k];
    }
  }
  AxisMap map;
  if (any_outside) map.outside = of_numbers(outside, options.dtype(at::kBool));
  const bool picks = index.size() == 1 && std::all_of(weight[0].begin(), weight[0].end(),
                                                      [](double w) { return w == 1; });
  if (!picks && (axis.in <= kShortAxis || index.empty())) {
    map.matrix = matrix_of(index, weight, axis).to(options);
    return map;
  }
  for (const std::vector<double>& taps : index)
    map.index.push_back(of_numbers(taps, options.dtype(at::kLong)));
  for (size_t k = 0; !picks && k < weight.size(); ++k)
    map.weight.push_back(of_numbers(weight[k], options));
  if (!picks) return map;
  const int64_t repeats = axis.in > 0 ? std::max<int64_t>(axis.out / axis.in, 1) : 1;
  bool regular = axis.out == repeats * axis.in;
  for (size_t place = 0; regular && place < places; ++place)
    regular = static_cast<int64_t>(index[0][place]) == static_cast<int64_t>(place) / repeats;
  map.unchanged = regular && repeats == 1;
  map.repeats = regular ? repeats : 0;
  return map;
}

/// The maps of the sizes that were met.
class AxisMaps {
 public:
  const AxisMap& of(const ResizeMode& mode, const ResizeAxis& a, const at::TensorOptions& options) {
    constexpr size_t kMost = 256;
    if (maps_.size() >= kMost) maps_.clear();
    const Key key{a.in,
                  a.out,
                  a.scale,
                  a.roi_start,
                  a.roi_end,
                  options.device(),
                  c10::typeMetaToScalarType(options.dtype())};
    const auto found = maps_.find(key);
    return found != maps_.end() ? found->second
                                : maps_.emplace(key, make_map(mode, a, options)).first->second;
  }

 private:
  struct Key {
    int64_t in, out;
    double scale, roi_start, roi_end;
    c10::Device device;
    at::ScalarType type;
    bool operator<(const Key& o) const {
      const auto tied = [](const Key& k) {
        return std::tuple(k.in, k.out, k.scale, k.roi_start, k.roi_end, k.device.type(),
                          k.device.index(), k.type);
      };
      return tied(*this) < tied(o);
    }
  };
  std::map<Key, AxisMap> maps_;
};

/// A vector along `axis` of a tensor of `rank` axes.
at::Tensor along_axis(const at::Tensor& vector, int64_t axis, int64_t rank) {
  std::vector<int64_t> shape(static_cast<size_t>(rank), 1);
  shape[static_cast<size_t>(axis)] = -1;
  return vector.view(shape);
}

at::Tensor repeated(const at::Tensor& x, int64_t axis, int64_t repeats) {
  std::vector<int64_t> wide = x.sizes().vec(), shape = wide;
  wide.insert(wide.begin() + axis + 1, repeats);
  shape[static_cast<size_t>(axis)] *= repeats;
  return x.unsqueeze(axis + 1).expand(wide).reshape(shape);
}

/// Also while products are computed in 16 bits: weights that are rounded add up to another sum.
at::Tensor multiplied(const at::Tensor& x, int64_t axis, const at::Tensor& matrix) {
  const c10::impl::ExcludeDispatchKeyGuard exact(c10::autocast_dispatch_keyset);
  if (axis == x.dim() - 1) return at::matmul(x, matrix.t());
  std::vector<int64_t> shape = x.sizes().vec();
  shape[static_cast<size_t>(axis)] = matrix.size(0);
  return at::matmul(matrix, x.flatten(axis + 1)).view(shape);
}

at::Tensor mapped(const at::Tensor& x, int64_t axis, const AxisMap& map) {
  if (map.unchanged) return x;
  if (map.repeats > 0) return repeated(x, axis, map.repeats);
  if (map.matrix.defined()) return multiplied(x, axis, map.matrix);
  at::Tensor y;
  for (size_t k = 0; k < map.index.size(); ++k) {
    at::Tensor part = at::index_select(x, axis, map.index[k]);
    if (map.weight.empty()) return part;
    const at::Tensor weight = along_axis(map.weight[k], axis, x.dim());
    y = k == 0 ? at::mul(part, weight) : at::addcmul(y, part, weight);
  }
  return y;
}

at::Tensor resized(const at::Tensor& x,
                   const ResizeAttrs& a,
                   const std::vector<ResizeAxis>& axes,
                   AxisMaps& maps) {
  const bool nearest = a.mode.interpolation == Interpolation::kNearest;
  at::Tensor y = nearest ? x : octet::train::widened(x);
  std::vector<std::pair<int64_t, at::Tensor>> outside;
  // The last axis first: where all grow, the axis whose elements lie far apart is the smallest.
  for (auto axis = a.axes.rbegin(); axis != a.axes.rend(); ++axis) {
    const AxisMap& map = maps.of(a.mode, axes[static_cast<size_t>(*axis)], y.options());
    y = mapped(y, *axis, map);
    if (map.outside.defined()) outside.emplace_back(*axis, map.outside);
  }
  for (const auto& [axis, places] : outside)
    y = y.masked_fill(along_axis(places, axis, y.dim()), a.extrapolation);
  return y.to(x.scalar_type());
}

template <class T>
T taken(octet::Result<T> result) {
  TORCH_CHECK(result.ok(), result.error().text());
  return std::move(*result);
}

/// The inputs behind x as the reference reads them; those that are constants come from no device.
class SizeInputs {
 public:
  explicit SizeInputs(const Prepare& p) {
    for (size_t i = 0; i < p.node.inputs.size(); ++i) {
      known_.push_back(i > 0 && p.constant(i) != nullptr ? *p.constant(i) : octet::Tensor());
      types_.push_back(p.type(i));
    }
  }
  std::vector<octet::Tensor> of(const Call& c) const {
    std::vector<octet::Tensor> out = known_;
    for (size_t i = 1; i < out.size(); ++i)
      if (out[i].empty() && c.has(i)) out[i] = octet::train::from_torch(c.in(i), types_[i]);
    return out;
  }

 private:
  std::vector<octet::Tensor> known_;
  std::vector<octet::DType> types_;
};

octet::Shape shape_of_tensor(const at::Tensor& x) {
  return {x.sizes().begin(), x.sizes().end()};
}

} // namespace

OCTET_TORCH(onnx, Resize) {
  if (!octet::is_float(p.type(0))) return {};
  const octet::Node node = p.node;
  const int64_t version = p.version;
  return [node, version, lists = SizeInputs(p), maps = AxisMaps()](Call& c) mutable {
    const at::Tensor& x = c.in(0);
    const ResizeAttrs a = taken(octet::parse_resize(node, version, x.dim()));
    const auto axes =
        taken(octet::resize_axes_of_inputs(a, version, shape_of_tensor(x), lists.of(c)));
    c.out(resized(x, a, axes, maps));
  };
}

OCTET_TORCH(onnx, Upsample) {
  if (!octet::is_float(p.type(0))) return {};
  std::vector<double> attribute;
  for (const float s : p.node.attr_floats("scales"))
    attribute.push_back(static_cast<double>(s));
  const bool linear = p.node.attr_string("mode", "nearest") == "linear";
  const bool has_attribute = p.version < 9;
  return [=, lists = SizeInputs(p), maps = AxisMaps()](Call& c) mutable {
    const at::Tensor& x = c.in(0);
    const std::vector<double> scales =
        has_attribute ? attribute : taken(lists.of(c).at(1).to_doubles());
    TORCH_CHECK(static_cast<int64_t>(scales.size()) == x.dim(), scales.size(), " scales for rank ",
                x.dim());
    ResizeAttrs a;
    a.mode.interpolation = linear ? Interpolation::kLinear : Interpolation::kNearest;
    a.mode.coordinates = octet::Coordinates::kAsymmetric;
    a.mode.nearest = octet::Nearest::kFloor;
    std::vector<ResizeAxis> axes;
    for (int64_t i = 0; i < x.dim(); ++i) {
      const double scale = scales[static_cast<size_t>(i)];
      TORCH_CHECK(scale >= 1 && scale < 0x1p30, "scales holds ", scale, "; use 1 or more");
      a.axes.push_back(i);
      axes.push_back({.in = x.size(i),
                      .out = static_cast<int64_t>(static_cast<double>(x.size(i)) * scale),
                      .scale = scale});
    }
    c.out(resized(x, a, axes, maps));
  };
}

// SPDX-License-Identifier: Apache-2.0
#include "quant/gram/layer_rows.h"

#include "core/format.h"
#include "graph/label.h"

namespace octet {

Result<LayerRows> LayerRows::of(const Graph& graph, const Node& product) {
  const Tensor* w = graph.constant(product.input(1));
  LayerRows out;
  if (w == nullptr || w->rank() < 2) return error("{} has no weights", label(graph, product));
  if (product.is("Conv")) {
    if (w->rank() < 3 || w->rank() > 5)
      return error("{} has {} spatial axes, not 1 to 3", label(graph, product), w->rank() - 2);
    out.groups_ = std::max<int64_t>(product.attr_int("group", 1), 1);
    out.channels_ = w->dim(1);
    out.columns_ = w->count() / std::max<int64_t>(w->dim(0), 1);
    out.window_ = OCTET_TRY(
        parse_window(product, std::vector<int64_t>(w->shape().begin() + 2, w->shape().end())));
    return out;
  }
  const bool gemm = product.is("Gemm");
  if ((!gemm && !product.is("MatMul")) || w->rank() != 2 || product.attr_int("transA", 0) != 0)
    return error("{} multiplies no rows with a matrix", label(graph, product));
  out.columns_ = w->dim(gemm && product.attr_int("transB", 0) != 0 ? 1 : 0);
  return out;
}

Result<LayerRows::Batch> LayerRows::batch(std::span<const int64_t> shape) const {
  Batch out(*this);
  const Shape all(shape.begin(), shape.end());
  out.examples_ = shape.size() < 2 ? 1 : shape[0];
  out.size_ = 1;
  for (size_t d = shape.size() < 2 ? 0 : 1; d < shape.size(); ++d)
    out.size_ *= shape[d];
  if (!window_) {
    if (shape.empty() || columns_ == 0 || shape.back() != columns_)
      return error("rows of {} were expected, the shape is {}", columns_, to_string(all));
    out.places_ = out.size_ / columns_;
    return out;
  }
  if (shape.size() != window_->spatial_rank() + 2 || shape[1] != channels_ * groups_)
    return error("{} channels and {} spatial axes were expected, the shape is {}",
                 channels_ * groups_, window_->spatial_rank(), to_string(all));
  const std::span<const int64_t> in = shape.subspan(2);
  const std::vector<int64_t> pads = resolve_pads(*window_, in);
  std::vector<int64_t> sizes;
  sizes.reserve(in.size());
  for (size_t a = 0; a < in.size(); ++a) {
    const int64_t room = in[a] + pads[a] + pads[a + in.size()] - window_->extent(a);
    sizes.push_back(room < 0 ? 0 : room / window_->strides[a] + 1);
  }
  out.geometry_ = window3(*window_, in, sizes);
  out.places_ = out.geometry_.out_count();
  out.step_ = std::max<int64_t>((out.places_ + kMostPlaces - 1) / kMostPlaces, 1);
  return out;
}

void LayerRows::Batch::write(std::span<const float> example,
                             int64_t place,
                             int64_t group,
                             std::span<float> row) const {
  if (!rows_.window_) {
    const auto from = example.subspan(static_cast<size_t>(first_element(place)), row.size());
    std::copy(from.begin(), from.end(), row.begin());
    return;
  }
  const Window3& g = geometry_;
  const int64_t at[3] = {place / (g.out[1] * g.out[2]), place / g.out[2] % g.out[1],
                         place % g.out[2]};
  int64_t start[3];
  for (size_t a = 0; a < 3; ++a)
    start[a] = at[a] * g.stride[a] - g.pad[a];
  const auto is_inside = [&](size_t axis, int64_t i) { return i >= 0 && i < g.in[axis]; };
  size_t to = 0;
  for (int64_t c = group * rows_.channels_; c < (group + 1) * rows_.channels_; ++c)
    for (int64_t z = 0; z < g.kernel[0]; ++z)
      for (int64_t y = 0; y < g.kernel[1]; ++y)
        for (int64_t x = 0; x < g.kernel[2]; ++x) {
          const int64_t iz = start[0] + z * g.dilation[0], iy = start[1] + y * g.dilation[1],
                        ix = start[2] + x * g.dilation[2];
          const bool inside = is_inside(0, iz) && is_inside(1, iy) && is_inside(2, ix);
          const int64_t from = ((c * g.in[0] + iz) * g.in[1] + iy) * g.in[2] + ix;
          row[to++] = inside ? example[static_cast<size_t>(from)] : 0.0F;
        }
}

} // namespace octet

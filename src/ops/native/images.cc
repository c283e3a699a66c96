// SPDX-License-Identifier: Apache-2.0
// Windows over NHWC images.
#include "ops/native/images.h"

#include <algorithm>

#include "core/format.h"

namespace octet::native {

Result<std::vector<Dim>>
image_shape(const WindowAttrs& window, const TypeInfo& x, const Dim& channels) {
  if (!x.has_rank()) return std::vector<Dim>{Dim(), Dim(), Dim(), channels};
  const auto sizes = OCTET_TRY(window_sizes(window, std::span(*x.shape).subspan(1, 2)));
  return std::vector<Dim>{(*x.shape)[0], sizes[0], sizes[1], channels};
}

Result<std::optional<WindowAttrs>>
parse_image_conv(const Node& node, const TypeInfo& x, const TypeInfo& w) {
  const int64_t group = node.attr_int("group", 1);
  if (group < 1) return error("group {}; use a positive number", group);
  if (!w.has_rank()) return std::optional<WindowAttrs>();
  const Dim &out = (*w.shape)[0], &in = (*w.shape)[3];
  if (out.is_constant() && out.value() % group != 0)
    return error("{} output channels in {} groups; make them divide", out.value(), group);
  if (x.has_rank())
    OCTET_TRY(merge_dims((*x.shape)[3], in * Dim(group), "channels of the image and the weights"));
  if (!(*w.shape)[1].is_constant() || !(*w.shape)[2].is_constant())
    return std::optional<WindowAttrs>();
  return std::optional(
      OCTET_TRY(parse_window(node, {(*w.shape)[1].value(), (*w.shape)[2].value()})));
}

Result<std::optional<WindowAttrs>> parse_image_pool(const Node& node, const TypeInfo& x) {
  if (node.attr_int("global", 0) != 0) {
    if (!x.has_rank()) return std::optional<WindowAttrs>();
    const Dim &h = (*x.shape)[1], &w = (*x.shape)[2];
    if (!h.is_constant() || !w.is_constant()) return std::optional<WindowAttrs>();
    // Whatever the size, which an image may have and a kernel not.
    return std::optional(WindowAttrs{{h.value(), w.value()}, {1, 1}, {1, 1}, {0, 0, 0, 0}});
  }
  auto kernel = node.attr_ints("kernel_shape");
  if (kernel.size() != 2) return error("kernel_shape has {} values; give 2", kernel.size());
  return std::optional(OCTET_TRY(parse_window(node, std::move(kernel))));
}

Result<std::optional<std::vector<Dim>>> image_pool_shape(const Node& node, const TypeInfo& x) {
  const auto window = OCTET_TRY(parse_image_pool(node, x));
  if (!x.has_rank()) return std::optional<std::vector<Dim>>();
  const Dim &batch = (*x.shape)[0], &channels = (*x.shape)[3];
  if (!window) return std::optional(std::vector<Dim>{batch, Dim(1), Dim(1), channels});
  return std::optional(OCTET_TRY(image_shape(*window, x, channels)));
}

Window3
image_window(const WindowAttrs& window, std::span<const int64_t> x, std::span<const int64_t> y) {
  return window3(window, x.subspan(1, 2), y.subspan(1, 2));
}

Result<std::vector<int64_t>> window_sums(const Node& node,
                                         const Tensor& codes,
                                         std::span<const int32_t> x,
                                         const Tensor& weights,
                                         std::span<const int64_t> y) {
  const auto w = OCTET_TRY(weight_codes(weights));
  const auto attrs = OCTET_TRY(parse_image_conv(node, tensor_type(codes.type(), codes.shape()),
                                                tensor_type(weights.type(), weights.shape())));
  const Window3 g = image_window(*attrs, codes.shape(), y);
  const int64_t channels = codes.dim(3), per = weights.dim(3), out = weights.dim(0),
                group_out = out / node.attr_int("group", 1), taps = g.kernel_count();
  std::vector<int64_t> sums(static_cast<size_t>(OCTET_TRY(element_count(y))));
  // The taps of a pixel side by side, group by group; those in the padding stay 0.
  std::vector<int32_t> patch(static_cast<size_t>(taps * channels));
  int64_t* sum = sums.data();
  for_each_pixel(g, codes.dim(0), channels, [&](int64_t image, int64_t h, int64_t v) {
    std::fill(patch.begin(), patch.end(), 0);
    for_each_tap(g, image, channels, h, v, [&](int64_t tap, int64_t pixel) {
      for (int64_t first = 0; first < channels; first += per)
        std::copy_n(x.begin() + pixel + first, per, patch.begin() + first * taps + tap * per);
    });
    for (int64_t o = 0; o < out; ++o)
      sum[o] =
          dot(patch.data() + o / group_out * taps * per, w.data() + o * taps * per, taps * per);
    sum += out;
  });
  return sums;
}

} // namespace octet::native

// SPDX-License-Identifier: Apache-2.0
// Windows over NHWC images.
#include "ops/native/images.h"

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

Window3
image_window(const WindowAttrs& window, std::span<const int64_t> x, std::span<const int64_t> y) {
  return window3(window, x.subspan(1, 2), y.subspan(1, 2));
}

} // namespace octet::native

// SPDX-License-Identifier: Apache-2.0
// Windows of ConvTranspose.
#include "ops/shared/transposed_window.h"

#include <algorithm>

#include "core/format.h"

namespace octet {

Result<TransposedWindow> parse_transposed(const Node& node, std::vector<int64_t> kernel) {
  TransposedWindow a;
  const size_t rank = kernel.size();
  const auto declared = node.attr_ints("kernel_shape");
  if (!declared.empty() && declared != kernel)
    return error("kernel_shape {} and weights of kernel {}; make them equal", to_string(declared),
                 to_string(kernel));
  a.window = OCTET_TRY(parse_window(node, std::move(kernel)));
  a.output_padding = node.attr_ints("output_padding");
  if (a.output_padding.empty()) a.output_padding.assign(rank, 0);
  a.output_shape = node.attr_ints("output_shape");
  if (a.output_shape.size() > rank) // with batch and channels in front
    a.output_shape.erase(a.output_shape.begin(),
                         a.output_shape.end() - static_cast<ptrdiff_t>(rank));
  a.group = node.attr_int("group", 1);
  if (a.group < 1) return error("group {}; use a positive number", a.group);
  if (a.output_padding.size() != rank || (!a.output_shape.empty() && a.output_shape.size() != rank))
    return error("output_padding or output_shape has a count other than {}", rank);
  for (const auto& list : {a.output_padding, a.output_shape})
    for (int64_t v : list)
      if (v < 0 || v > (int64_t{1} << 31))
        return error("output_padding or output_shape holds {}; use values from 0 to 2^31", v);
  return a;
}

bool makes_blocks(const TransposedWindow& a) {
  const auto all = [](const std::vector<int64_t>& values, int64_t wanted) {
    return std::all_of(values.begin(), values.end(), [=](int64_t v) { return v == wanted; });
  };
  const WindowAttrs& w = a.window;
  const bool explicit_pads = w.auto_pad == AutoPad::kNotSet || w.auto_pad == AutoPad::kValid;
  return a.group == 1 && w.kernel == w.strides && all(w.dilations, 1) && explicit_pads &&
         all(w.pads, 0) && all(a.output_padding, 0) && a.output_shape.empty();
}

TransposedExtent transposed_extent(const TransposedWindow& a, size_t axis, int64_t in) {
  const WindowAttrs& w = a.window;
  const size_t rank = w.spatial_rank();
  const int64_t full = w.strides[axis] * (in - 1) + a.output_padding[axis] + w.extent(axis);
  const bool same = w.auto_pad == AutoPad::kSameUpper || w.auto_pad == AutoPad::kSameLower;
  if (a.output_shape.empty() && !same)
    return {full - w.pads[axis] - w.pads[rank + axis], w.pads[axis]};
  const int64_t size =
      a.output_shape.empty() ? std::min(in * w.strides[axis], full) : a.output_shape[axis];
  const int64_t total = std::max<int64_t>(full - size, 0);
  return {size, w.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2};
}

} // namespace octet

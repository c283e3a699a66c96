// SPDX-License-Identifier: Apache-2.0
// Sliding windows of convolutions and pools.
#include "ops/shared/window.h"

#include <algorithm>

#include "core/format.h"

namespace octet {
namespace {

/// No image has larger windows, and a reference loop over one ends in bearable time.
constexpr int64_t kMostPerAxis = 1 << 16;

Status check_each(const char* what, std::span<const int64_t> values, size_t count, int64_t least) {
  if (values.size() != count) return error("{} has {} values; give {}", what, values.size(), count);
  for (int64_t v : values)
    if (v < least || v > kMostPerAxis)
      return error("{} holds {}; use values from {} to {}", what, v, least, kMostPerAxis);
  return ok_status();
}

int64_t ceil_div(int64_t a, int64_t b) {
  return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

Result<Dim> window_size(const WindowAttrs& a, size_t axis, const Dim& in) {
  const int64_t stride = a.strides[axis];
  const bool same = a.auto_pad == AutoPad::kSameUpper || a.auto_pad == AutoPad::kSameLower;
  if (!in.is_known()) return Dim::unknown();
  if (same) return ceil_divide(in, stride);
  const int64_t begin = a.pads[axis], end = a.pads[a.spatial_rank() + axis];
  const Dim room = in + Dim(begin + end - a.extent(axis));
  if (!in.is_constant()) {
    if (a.rounding == SizeRounding::kFloor) return floor_divide(room, stride) + Dim(1);
    // Only in a window that reaches so far may the last one start behind the input.
    if (stride + end > a.extent(axis)) return Dim::unknown();
    return ceil_divide(room, stride) + Dim(1);
  }
  if (room.value() < 0)
    return error(
        "spatial axis {} has {} elements with padding and the kernel spans {}; pad more or "
        "use a smaller kernel",
        axis, in.value() + begin + end, a.extent(axis));
  if (a.rounding == SizeRounding::kFloor) return Dim(room.value() / stride + 1);
  int64_t out = ceil_div(room.value(), stride) + 1;
  if ((out - 1) * stride >= in.value() + begin) --out; // a window must start inside the input
  return Dim(out);
}

} // namespace

Result<WindowAttrs> parse_window(const Node& node, std::vector<int64_t> kernel) {
  WindowAttrs a;
  const size_t rank = kernel.size();
  a.kernel = std::move(kernel);
  a.strides = node.attr_ints("strides");
  a.dilations = node.attr_ints("dilations");
  a.pads = node.attr_ints("pads");
  if (a.strides.empty()) a.strides.assign(rank, 1);
  if (a.dilations.empty()) a.dilations.assign(rank, 1);
  OCTET_TRY(check_each("kernel_shape", a.kernel, rank, 1));
  OCTET_TRY(check_each("strides", a.strides, rank, 1));
  OCTET_TRY(check_each("dilations", a.dilations, rank, 1));
  const std::string mode = node.attr_string("auto_pad", "NOTSET");
  if (mode == "SAME_UPPER")
    a.auto_pad = AutoPad::kSameUpper;
  else if (mode == "SAME_LOWER")
    a.auto_pad = AutoPad::kSameLower;
  else if (mode == "VALID")
    a.auto_pad = AutoPad::kValid;
  else if (mode != "NOTSET" && !mode.empty())
    return error("auto_pad \"{}\"; use NOTSET, SAME_UPPER, SAME_LOWER or VALID", mode);
  if (a.pads.empty() || a.auto_pad != AutoPad::kNotSet) {
    if (std::any_of(a.pads.begin(), a.pads.end(), [](int64_t p) { return p != 0; }))
      return error("pads given beside auto_pad \"{}\"; drop one of them", mode);
    a.pads.assign(2 * rank, 0);
  }
  OCTET_TRY(check_each("pads", a.pads, 2 * rank, 0));
  if (node.attr_int("ceil_mode", 0) != 0) a.rounding = SizeRounding::kCeil;
  return a;
}

Result<std::vector<Dim>> window_sizes(const WindowAttrs& attrs, std::span<const Dim> spatial) {
  std::vector<Dim> out;
  for (size_t axis = 0; axis < spatial.size(); ++axis)
    out.push_back(OCTET_TRY(window_size(attrs, axis, spatial[axis])));
  return out;
}

std::vector<int64_t> resolve_pads(const WindowAttrs& attrs, std::span<const int64_t> spatial) {
  if (attrs.auto_pad == AutoPad::kNotSet || attrs.auto_pad == AutoPad::kValid) return attrs.pads;
  const size_t rank = attrs.spatial_rank();
  std::vector<int64_t> pads(2 * rank);
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t out = ceil_div(spatial[axis], attrs.strides[axis]);
    const int64_t total =
        std::max<int64_t>((out - 1) * attrs.strides[axis] + attrs.extent(axis) - spatial[axis], 0);
    const int64_t less = total / 2, more = total - less;
    const bool upper = attrs.auto_pad == AutoPad::kSameUpper;
    pads[axis] = upper ? less : more;
    pads[rank + axis] = upper ? more : less;
  }
  return pads;
}

Window3 window3(const WindowAttrs& attrs,
                std::span<const int64_t> in_spatial,
                std::span<const int64_t> out_spatial) {
  Window3 w;
  const size_t rank = attrs.spatial_rank(), front = 3 - rank;
  const auto pads = resolve_pads(attrs, in_spatial);
  for (size_t i = 0; i < rank; ++i) {
    w.in[front + i] = in_spatial[i];
    w.out[front + i] = out_spatial[i];
    w.kernel[front + i] = attrs.kernel[i];
    w.stride[front + i] = attrs.strides[i];
    w.dilation[front + i] = attrs.dilations[i];
    w.pad[front + i] = pads[i];
    w.pad_end[front + i] = pads[rank + i];
  }
  return w;
}

} // namespace octet

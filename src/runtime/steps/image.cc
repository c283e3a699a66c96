// SPDX-License-Identifier: Apache-2.0
#include "runtime/steps/image.h"

namespace octet::runtime {

Result<ImageWindow> window_of(const Node& node,
                              std::span<const int64_t> kernel,
                              int64_t channels_in,
                              int64_t channels_out) {
  ImageWindow window;
  window.attrs = OCTET_TRY(parse_window(node, {kernel.begin(), kernel.end()}));
  kernels::ConvShape& s = window.shape;
  s.in_c = channels_in;
  s.out_c = channels_out;
  s.kernel_h = kernel[0];
  s.kernel_w = kernel[1];
  s.stride_h = window.attrs.strides[0];
  s.stride_w = window.attrs.strides[1];
  s.dilation_h = window.attrs.dilations[0];
  s.dilation_w = window.attrs.dilations[1];
  s.groups = node.attr_int("group", 1);
  return window;
}

kernels::ConvShape ImageWindow::on(const Operand& x, const Operand& y) const {
  kernels::ConvShape s = shape;
  s.batch = x.shape[0];
  s.in_h = x.shape[1];
  s.in_w = x.shape[2];
  s.out_h = y.shape[1];
  s.out_w = y.shape[2];
  const int64_t sizes[] = {s.in_h, s.in_w};
  const std::vector<int64_t> pads = resolve_pads(attrs, sizes);
  s.pad_top = pads[0];
  s.pad_left = pads[1];
  return s;
}

} // namespace octet::runtime

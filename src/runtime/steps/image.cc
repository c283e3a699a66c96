// SPDX-License-Identifier: Apache-2.0
#include "runtime/steps/image.h"

namespace octet::runtime {
namespace {

int64_t item(const std::vector<int64_t>& list, size_t i, int64_t otherwise) {
  return i < list.size() ? list[i] : otherwise;
}

} // namespace

kernels::ConvShape window_of(const Node& node,
                             std::span<const int64_t> kernel,
                             int64_t channels_in,
                             int64_t channels_out) {
  kernels::ConvShape s;
  s.in_c = channels_in;
  s.out_c = channels_out;
  s.kernel_h = kernel[0];
  s.kernel_w = kernel[1];
  const auto strides = node.attr_ints("strides"), pads = node.attr_ints("pads"),
             dilations = node.attr_ints("dilations");
  s.stride_h = item(strides, 0, 1);
  s.stride_w = item(strides, 1, 1);
  s.pad_top = item(pads, 0, 0);
  s.pad_left = item(pads, 1, 0);
  s.dilation_h = item(dilations, 0, 1);
  s.dilation_w = item(dilations, 1, 1);
  s.groups = node.attr_int("group", 1);
  return s;
}

kernels::ConvShape with_images(kernels::ConvShape s, const Operand& x, const Operand& y) {
  s.batch = x.shape[0];
  s.in_h = x.shape[1];
  s.in_w = x.shape[2];
  s.out_h = y.shape[1];
  s.out_w = y.shape[2];
  return s;
}

} // namespace octet::runtime

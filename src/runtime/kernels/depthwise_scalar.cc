// SPDX-License-Identifier: Apache-2.0
// Scalar depthwise sums, one output at a time.
#include <algorithm>

#include "runtime/kernels/iconv.h"
#include "runtime/kernels/igemm_tile.h"

namespace octet::kernels {
namespace {

int32_t x_at(const IconvArgs& args, int64_t image, int64_t y, int64_t x, int64_t channel) {
  const ConvShape& s = args.shape;
  if (y < 0 || y >= s.in_h || x < 0 || x >= s.in_w) return args.x_zero_point;
  const int64_t at = ((image * s.in_h + y) * s.in_w + x) * s.in_c + channel;
  return args.w->x.is_signed ? int32_t{static_cast<const int8_t*>(args.x)[at]}
                             : int32_t{static_cast<const uint8_t*>(args.x)[at]};
}

int32_t sum_at(const IconvArgs& args, int64_t pixel, int64_t channel) {
  const ConvShape& s = args.shape;
  const int8_t* w = args.w->depthwise.data.as<int8_t>() + channel * args.w->depthwise.taps;
  const int64_t y0 = pixel / s.out_w % s.out_h * s.stride_h - s.pad_top;
  const int64_t x0 = pixel % s.out_w * s.stride_w - s.pad_left;
  const int64_t image = pixel / s.out_w / s.out_h;
  int32_t sum = 0;
  for (int64_t t = 0; t < args.w->depthwise.taps; ++t) {
    const int64_t y = y0 + t / s.kernel_w * s.dilation_h;
    const int64_t x = x0 + t % s.kernel_w * s.dilation_w;
    sum += x_at(args, image, y, x, channel) * w[t];
  }
  return sum;
}

} // namespace

void depthwise_scalar(const IconvArgs& args, int64_t begin, int64_t end) {
  int32_t acc[kColumnsPerPanel];
  TileOut out;
  out.acc = acc;
  out.rows = 1;
  out.init = args.columns->init;
  out.multiplier = args.columns->multiplier;
  out.bias = args.columns->bias;
  out.y = args.y;
  out.y_stride = args.shape.out_c;
  for (int64_t pixel = begin; pixel < end; ++pixel) {
    out.row = pixel;
    for (out.column = 0; out.column < args.shape.out_c; out.column += kColumnsPerPanel) {
      out.columns = std::min(kColumnsPerPanel, args.shape.out_c - out.column);
      for (int64_t c = 0; c < out.columns; ++c) {
        acc[c] = sum_at(args, pixel, out.column + c);
      }
      epilogue_tile_scalar(args.epilogue, out);
    }
  }
}

} // namespace octet::kernels

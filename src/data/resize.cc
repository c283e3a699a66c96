// SPDX-License-Identifier: Apache-2.0
// Scaling of images with antialiasing: each pixel of the result is a weighted mean of those that
// its window covers, wider where the image shrinks. Weights are counted in 2^-22 and rows come before
// columns, so that results are Pillow's, bit for bit (its Resample.c, up to version 12; 13 takes the
// columns of some shapes first): networks of others were trained on these.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "data/pixels.h"

namespace octet {
namespace {

constexpr int kWeightBits = 22;

struct Window {
  int64_t begin = 0;
  std::vector<int32_t> weights;
};

double triangle(double x) {
  return std::max(0.0, 1.0 - std::abs(x));
}

/// Keys 1981 with a = -0.5.
double cubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * kA;
  return 0;
}

std::vector<Window> windows_of(int64_t from, int64_t to, ImageFilter filter) {
  const bool bicubic = filter == ImageFilter::kBicubic;
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = std::max(scale, 1.0);
  const double support = (bicubic ? 2.0 : 1.0) * stretch;
  std::vector<Window> out(static_cast<size_t>(to));
  std::vector<double> weights;
  for (int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto begin =
        std::max<int64_t>(static_cast<int64_t>(std::floor(center - support + 0.5)), 0);
    const auto end = std::min(static_cast<int64_t>(std::floor(center + support + 0.5)), from);
    weights.clear();
    double sum = 0;
    for (int64_t x = begin; x < end; ++x) {
      const double at =
          (static_cast<double>(x - begin) + static_cast<double>(begin) - center + 0.5) *
          (1.0 / stretch);
      weights.push_back(bicubic ? cubic(at) : triangle(at));
      sum += weights.back();
    }
    Window& window = out[static_cast<size_t>(i)];
    window.begin = begin;
    for (double w : weights) {
      if (sum != 0) w /= sum;
      w *= 1 << kWeightBits;
      window.weights.push_back(static_cast<int32_t>(std::lround(w)));
    }
  }
  return out;
}

uint8_t weighted(const uint8_t* from, size_t stride, const std::vector<int32_t>& weights) {
  int64_t sum = int64_t{1} << (kWeightBits - 1);
  for (const int32_t weight : weights) {
    sum += int64_t{weight} * *from;
    from += stride;
  }
  return static_cast<uint8_t>(std::clamp<int64_t>(sum >> kWeightBits, 0, 255));
}

Pixels scaled_x(const Pixels& from, int64_t width, ImageFilter filter) {
  const auto channels = static_cast<size_t>(from.channels);
  const std::vector<Window> windows = windows_of(from.width, width, filter);
  Pixels to{width, from.height, from.channels, {}};
  to.values.resize(static_cast<size_t>(width * from.height) * channels);
  uint8_t* out = to.values.data();
  for (int64_t y = 0; y < from.height; ++y) {
    const uint8_t* row = from.values.data() + static_cast<size_t>(y * from.width) * channels;
    for (const Window& window : windows)
      for (size_t c = 0; c < channels; ++c)
        *out++ = weighted(row + static_cast<size_t>(window.begin) * channels + c, channels,
                          window.weights);
  }
  return to;
}

Pixels scaled_y(const Pixels& from, int64_t height, ImageFilter filter) {
  const auto row = static_cast<size_t>(from.width * from.channels);
  Pixels to{from.width, height, from.channels, {}};
  to.values.resize(row * static_cast<size_t>(height));
  uint8_t* out = to.values.data();
  for (const Window& window : windows_of(from.height, height, filter))
    for (size_t x = 0; x < row; ++x)
      *out++ = weighted(from.values.data() + static_cast<size_t>(window.begin) * row + x, row,
                        window.weights);
  return to;
}

/// The size that an image is scaled to before its middle is taken: at least `to`, in proportion.
std::pair<int64_t, int64_t> covering(const Pixels& from, const ImagePreparation& to) {
  const int64_t w = to.shorter_side > 0 ? to.shorter_side : to.width;
  const int64_t h = to.shorter_side > 0 ? to.shorter_side : to.height;
  if (w * from.height >= h * from.width) return {w, w * from.height / from.width};
  return {h * from.width / from.height, h};
}

/// Half of what is left over, a half pixel to the even side: torchvision's CenterCrop.
int64_t margin(int64_t size, int64_t wanted) {
  const int64_t half = (size - wanted) / 2;
  return (size - wanted) % 2 == 0 || half % 2 == 0 ? half : half + 1;
}

Pixels middle(const Pixels& from, int64_t width, int64_t height) {
  Pixels to{width, height, from.channels, {}};
  const int64_t left = margin(from.width, width), top = margin(from.height, height);
  const auto row = static_cast<ptrdiff_t>(width * from.channels);
  to.values.reserve(static_cast<size_t>(row * height));
  for (int64_t y = 0; y < height; ++y) {
    const auto begin = from.values.begin() +
                       static_cast<ptrdiff_t>(((top + y) * from.width + left) * from.channels);
    to.values.insert(to.values.end(), begin, begin + row);
  }
  return to;
}

} // namespace

Pixels resized(const Pixels& pixels, int64_t width, int64_t height, ImageFilter filter) {
  Pixels out = width == pixels.width ? pixels : scaled_x(pixels, width, filter);
  return height == out.height ? out : scaled_y(out, height, filter);
}

Result<Pixels> prepared(Pixels pixels, const ImagePreparation& to) {
  pixels = with_channels(std::move(pixels), to.channels);
  if (to.crop == ImageCrop::kNone) return resized(pixels, to.width, to.height, to.filter);
  const auto [width, height] = covering(pixels, to);
  if (width * height > kMaxImagePixels)
    return error("{} x {} pixels would be scaled to {} x {} before the middle is taken; it is too "
                 "narrow",
                 pixels.width, pixels.height, width, height);
  const Pixels whole = resized(pixels, width, height, to.filter);
  return middle(whole, to.width, to.height);
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// PNG files: whatever the bytes are, upright pixels of the header's size or an error come out.
#include <cstdlib>

#include "data/pixels.h"
#include "replay/seeds.h"
#include <png.h>

namespace octet::fuzz {
namespace {

std::string png_of(uint32_t format, uint32_t pixel_bytes) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = 9;
  image.height = 5;
  image.format = format;
  std::string pixels(size_t{9} * 5 * pixel_bytes, '\0');
  for (size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<char>(i * 37);
  std::string colors(size_t{256} * 4, '\x55');
  image.colormap_entries = (format & PNG_FORMAT_FLAG_COLORMAP) != 0 ? 256 : 0;
  std::string out(size_t{1} << 14, '\0');
  png_alloc_size_t size = out.size();
  if (png_image_write_to_memory(&image, out.data(), &size, 0, pixels.data(), 0, colors.data()) == 0)
    std::abort();
  out.resize(size);
  return out;
}

} // namespace

std::vector<std::string> seeds() {
  return {png_of(PNG_FORMAT_GRAY, 1), png_of(PNG_FORMAT_RGB, 3), png_of(PNG_FORMAT_RGBA, 4),
          png_of(PNG_FORMAT_RGB_COLORMAP, 1), png_of(PNG_FORMAT_LINEAR_Y, 2)};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kPixels = 1 << 18;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto header = octet::read_image_header(bytes, "input", kPixels);
  auto pixels = octet::decode_image(bytes, "input", kPixels);
  if (!pixels.ok()) return 0;
  if (!header.ok() || header->width * header->height != pixels->width * pixels->height)
    std::abort();
  octet::ImagePreparation to;
  to.width = 7;
  to.height = 3;
  to.channels = 3;
  to.crop = octet::ImageCrop::kCenter;
  const auto small = octet::prepared(std::move(*pixels), to);
  if (small.ok() && small->values.size() != size_t{7} * 3 * 3) std::abort();
  return 0;
}

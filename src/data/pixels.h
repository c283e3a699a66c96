// SPDX-License-Identifier: Apache-2.0
// Images of 8 bits from the bytes of PNG and JPEG files, and the same in another size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "octet/images.h"
#include "octet/result.h"

namespace octet {

/// Rows from the top, pixels from the left, channels (1: grey, 3: RGB) side by side.
struct Pixels {
  int64_t width = 0, height = 0, channels = 0;
  std::vector<uint8_t> values;
};

struct ImageHeader {
  int64_t width = 0, height = 0;
  bool grey = false;
};

/// Images of more pixels are refused before memory is taken for them.
constexpr int64_t kMaxImagePixels = 100'000'000;

/// A PNG or a JPEG, told by its first bytes, turned upright as its EXIF orientation says. Alpha is
/// left out, 16 bits are scaled to 8, palettes become RGB, CMYK (which Adobe stores inverted) is
/// taken as Pillow does. `name` begins every error: neither of both, damaged, truncated, too large.
Result<Pixels> decode_image(std::span<const std::byte> bytes,
                            const std::string& name,
                            int64_t max_pixels = kMaxImagePixels);
/// Size and kind as decode_image has them, without the pixels.
Result<ImageHeader> read_image_header(std::span<const std::byte> bytes,
                                      const std::string& name,
                                      int64_t max_pixels = kMaxImagePixels);

/// A decoder's part: pixels as they are stored. `exif` becomes the TIFF structure of an EXIF block.
struct StoredImage {
  ImageHeader header;
  Pixels pixels; ///< none where only the header was asked for
  std::vector<std::byte> exif;
};
enum class ImagePart { kHeader, kAll };
Result<StoredImage> read_png(std::span<const std::byte> bytes, ImagePart part, int64_t max_pixels);
Result<StoredImage> read_jpeg(std::span<const std::byte> bytes, ImagePart part, int64_t max_pixels);
/// Errors: more pixels than that.
Status check_image_size(int64_t width, int64_t height, int64_t max_pixels);

/// The orientation 1 .. 8 in a TIFF structure (Exif 2.3, tag 0x0112); 1 where it says none.
int exif_orientation(std::span<const std::byte> tiff);
/// As it is to be seen.
Pixels turned(Pixels pixels, int orientation);

/// Grey from RGB by (19595 R + 38470 G + 7471 B + 32768) / 65536, RGB from grey by repetition.
Pixels with_channels(Pixels pixels, int64_t channels);
/// Scaled along one axis after the other, each pixel rounded in between, as Pillow does.
Pixels resized(const Pixels& pixels, int64_t width, int64_t height, ImageFilter filter);
/// Channels, size and crop as a preparation with all of them known has them. Errors: an image so
/// narrow that it would become too large before it is cropped.
Result<Pixels> prepared(Pixels pixels, const ImagePreparation& to);

} // namespace octet

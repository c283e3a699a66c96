// SPDX-License-Identifier: Apache-2.0
// From the bytes of an image file to upright pixels.
#include "data/pixels.h"

#include <algorithm>
#include <cstring>

#include "core/format.h"

namespace octet {
namespace {

constexpr uint8_t kPngStart[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr uint8_t kJpegStart[] = {0xff, 0xd8, 0xff};

template <size_t N>
bool begins_with(std::span<const std::byte> bytes, const uint8_t (&start)[N]) {
  return bytes.size() >= N && std::memcmp(bytes.data(), start, N) == 0;
}

Result<StoredImage>
read_stored(std::span<const std::byte> bytes, ImagePart part, int64_t max_pixels) {
  if (begins_with(bytes, kPngStart)) return read_png(bytes, part, max_pixels);
  if (begins_with(bytes, kJpegStart)) return read_jpeg(bytes, part, max_pixels);
  return error("is neither a PNG nor a JPEG; convert it to one of them");
}

/// Integers of a TIFF structure in its byte order; 0 beyond its end.
class TiffBytes {
 public:
  explicit TiffBytes(std::span<const std::byte> bytes)
      : bytes_(bytes), big_(bytes.size() > 1 && bytes[0] == std::byte{'M'}) {}
  size_t u16(size_t at) const { return number(at, 2); }
  size_t u32(size_t at) const { return number(at, 4); }

 private:
  size_t number(size_t at, size_t count) const {
    if (at > bytes_.size() || bytes_.size() - at < count) return 0;
    size_t out = 0;
    for (size_t i = 0; i < count; ++i)
      out = out << 8 | std::to_integer<size_t>(bytes_[at + (big_ ? i : count - 1 - i)]);
    return out;
  }
  std::span<const std::byte> bytes_;
  bool big_;
};

/// Orientations from 5 on have rows where the picture has columns.
bool is_transposed(int orientation) {
  return orientation >= 5;
}

} // namespace

Status check_image_size(int64_t width, int64_t height, int64_t max_pixels) {
  if (width * height <= max_pixels) return ok_status();
  return error("has {} x {} pixels, above the limit of {}; make it smaller", width, height,
               max_pixels);
}

int exif_orientation(std::span<const std::byte> tiff) {
  constexpr size_t kOrientation = 0x0112, kEntryBytes = 12;
  const TiffBytes bytes(tiff);
  if (bytes.u16(2) != 42) return 1;
  const size_t first = bytes.u32(4);
  const size_t entries = bytes.u16(first);
  for (size_t i = 0; i < entries; ++i) {
    const size_t at = first + 2 + i * kEntryBytes;
    if (bytes.u16(at) != kOrientation) continue;
    const size_t value = bytes.u16(at + 8);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Pixels turned(Pixels from, int orientation) {
  if (orientation == 1) return from;
  Pixels to = from;
  if (is_transposed(orientation)) std::swap(to.width, to.height);
  const bool mirrored_x =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool mirrored_y =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const auto channels = static_cast<size_t>(from.channels);
  uint8_t* out = to.values.data();
  for (int64_t y = 0; y < to.height; ++y)
    for (int64_t x = 0; x < to.width; ++x) {
      int64_t sx = is_transposed(orientation) ? y : x, sy = is_transposed(orientation) ? x : y;
      if (mirrored_x) sx = from.width - 1 - sx;
      if (mirrored_y) sy = from.height - 1 - sy;
      const auto at = static_cast<size_t>(sy * from.width + sx) * channels;
      out = std::copy_n(from.values.data() + at, channels, out);
    }
  return to;
}

Result<Pixels>
decode_image(std::span<const std::byte> bytes, const std::string& name, int64_t max_pixels) {
  Result<StoredImage> read = read_stored(bytes, ImagePart::kAll, max_pixels);
  if (!read.ok()) return error("{} {}", name, read.error().text());
  return turned(std::move(read->pixels), exif_orientation(read->exif));
}

Result<ImageHeader>
read_image_header(std::span<const std::byte> bytes, const std::string& name, int64_t max_pixels) {
  Result<StoredImage> read = read_stored(bytes, ImagePart::kHeader, max_pixels);
  if (!read.ok()) return error("{} {}", name, read.error().text());
  ImageHeader out = read->header;
  if (is_transposed(exif_orientation(read->exif))) std::swap(out.width, out.height);
  return out;
}

Pixels with_channels(Pixels from, int64_t channels) {
  if (from.channels == channels) return from;
  const auto count = static_cast<size_t>(from.width * from.height);
  Pixels to{from.width, from.height, channels, {}};
  to.values.resize(count * static_cast<size_t>(channels));
  if (channels == 3) {
    for (size_t i = 0; i < count; ++i)
      std::fill_n(to.values.begin() + static_cast<ptrdiff_t>(3 * i), 3, from.values[i]);
    return to;
  }
  for (size_t i = 0; i < count; ++i) {
    const uint8_t* rgb = from.values.data() + 3 * i;
    to.values[i] =
        static_cast<uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
  }
  return to;
}

} // namespace octet

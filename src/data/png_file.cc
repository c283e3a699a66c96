// SPDX-License-Identifier: Apache-2.0
// PNG files through libpng. Its errors jump back: what has a destructor lives outside of the
// function that it jumps in.
#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "core/format.h"
#include "data/pixels.h"
#include <png.h>

namespace octet {
namespace {

constexpr size_t kMaxPngChunk = size_t{16} << 20;
constexpr unsigned kMaxPngSide = 1'000'000;

struct PngReader {
  std::span<const std::byte> bytes;
  ImagePart part;
  int64_t max_pixels;
  size_t at = 0;
  png_structp png = nullptr;
  png_infop info = nullptr;
  bool too_large = false;
  char message[200] = "";
  StoredImage out;

  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
};

void take_png_bytes(png_structp png, png_bytep to, size_t count) {
  auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (count > reader->bytes.size() - reader->at) png_error(png, "the file is truncated");
  std::memcpy(to, reader->bytes.data() + reader->at, count);
  reader->at += count;
}

[[noreturn]] void on_png_error(png_structp png, png_const_charp text) {
  auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
  std::strncpy(reader->message, text, sizeof reader->message - 1);
  png_longjmp(png, 1);
}

void on_png_warning(png_structp, png_const_charp) {}

/// 8 bits a channel, grey or RGB.
void ask_for_plain_pixels(png_structp png, png_infop info) {
  png_set_scale_16(png);
  if (png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (png_get_bit_depth(png, info) < 8) png_set_expand_gray_1_2_4_to_8(png);
  png_set_strip_alpha(png);
}

void keep_png_exif(PngReader& r) {
  png_bytep exif = nullptr;
  png_uint_32 size = 0;
  if (png_get_eXIf_1(r.png, r.info, &size, &exif) == 0) return;
  const auto* begin = reinterpret_cast<const std::byte*>(exif);
  r.out.exif.assign(begin, begin + size);
}

/// False: the message says why.
bool read_png_parts(PngReader& r) {
  if (setjmp(png_jmpbuf(r.png)) != 0) return false;
  png_set_user_limits(r.png, kMaxPngSide, kMaxPngSide);
  png_set_chunk_malloc_max(r.png, kMaxPngChunk);
  png_set_chunk_cache_max(r.png, 256);
  png_set_read_fn(r.png, &r, take_png_bytes);
  png_read_info(r.png, r.info);
  const auto width = static_cast<int64_t>(png_get_image_width(r.png, r.info));
  const auto height = static_cast<int64_t>(png_get_image_height(r.png, r.info));
  r.out.header = {width, height, (png_get_color_type(r.png, r.info) & PNG_COLOR_MASK_COLOR) == 0};
  r.too_large = width * height > r.max_pixels;
  if (r.too_large) return false;
  keep_png_exif(r);
  if (r.part == ImagePart::kHeader) return true;
  ask_for_plain_pixels(r.png, r.info);
  const int passes = png_set_interlace_handling(r.png);
  png_read_update_info(r.png, r.info);
  const int64_t channels = png_get_channels(r.png, r.info);
  const size_t row_bytes = png_get_rowbytes(r.png, r.info);
  if ((channels != 1 && channels != 3) || row_bytes != static_cast<size_t>(width * channels))
    png_error(r.png, "its pixels have an unknown form");
  Pixels& pixels = r.out.pixels;
  pixels.width = width;
  pixels.height = height;
  pixels.channels = channels;
  pixels.values.resize(row_bytes * static_cast<size_t>(height));
  for (int pass = 0; pass < passes; ++pass)
    for (int64_t y = 0; y < height; ++y)
      png_read_row(r.png, pixels.values.data() + static_cast<size_t>(y) * row_bytes, nullptr);
  png_read_end(r.png, r.info);
  keep_png_exif(r);
  return true;
}

} // namespace

Result<StoredImage> read_png(std::span<const std::byte> bytes, ImagePart part, int64_t max_pixels) {
  PngReader reader{.bytes = bytes, .part = part, .max_pixels = max_pixels, .out = {}};
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_png_error, on_png_warning);
  if (reader.png == nullptr)
    return error("libpng cannot be started: no memory, or another version");
  reader.info = png_create_info_struct(reader.png);
  if (reader.info == nullptr) return error("no memory for a PNG");
  if (read_png_parts(reader)) return std::move(reader.out);
  if (reader.too_large)
    OCTET_TRY(check_image_size(reader.out.header.width, reader.out.header.height, max_pixels));
  return error("is a damaged PNG: {}", reader.message);
}

} // namespace octet

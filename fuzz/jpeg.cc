// SPDX-License-Identifier: Apache-2.0
// JPEG files: whatever the bytes are, pixels of the header's size or an error come out.
#include <cstdio> // before jpeglib.h, which needs it
#include <cstdlib>

#include "data/pixels.h"
#include "replay/seeds.h"
#include <jpeglib.h>

namespace octet::fuzz {
namespace {

std::string jpeg_of(J_COLOR_SPACE space, int channels, bool progressive) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &out, &size);
  jpeg.image_width = 19;
  jpeg.image_height = 9;
  jpeg.input_components = channels;
  jpeg.in_color_space = space;
  jpeg_set_defaults(&jpeg);
  if (progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  // EXIF that turns the picture by a quarter.
  const std::string exif("Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0",
                         32);
  jpeg_write_marker(&jpeg, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(exif.data()),
                    static_cast<unsigned>(exif.size()));
  std::string row(size_t{19} * static_cast<size_t>(channels), '\0');
  while (jpeg.next_scanline < jpeg.image_height) {
    for (size_t i = 0; i < row.size(); ++i)
      row[i] = static_cast<char>(i * 5 + size_t{11} * jpeg.next_scanline);
    auto* line = reinterpret_cast<JSAMPROW>(row.data());
    jpeg_write_scanlines(&jpeg, &line, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string bytes(reinterpret_cast<const char*>(out), size);
  jpeg_destroy_compress(&jpeg);
  std::free(out);
  return bytes;
}

} // namespace

std::vector<std::string> seeds() {
  return {jpeg_of(JCS_GRAYSCALE, 1, false), jpeg_of(JCS_RGB, 3, false), jpeg_of(JCS_RGB, 3, true),
          jpeg_of(JCS_CMYK, 4, false)};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kPixels = 1 << 18;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto header = octet::read_image_header(bytes, "input", kPixels);
  const auto pixels = octet::decode_image(bytes, "input", kPixels);
  if (!pixels.ok()) return 0;
  if (!header.ok() || header->width != pixels->width || header->height != pixels->height ||
      pixels->values.size() !=
          static_cast<size_t>(pixels->width * pixels->height * pixels->channels))
    std::abort();
  return 0;
}

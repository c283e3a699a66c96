// SPDX-License-Identifier: Apache-2.0
// JPEG files through libjpeg-turbo. Its errors jump back: what has a destructor lives outside of
// the function that it jumps in.
#include <csetjmp>
#include <cstdio> // before jpeglib.h, which needs it
#include <cstring>

#include "core/format.h"
#include "data/pixels.h"
// jerror.h numbers its codes by what jpeglib.h defines, so it comes second.
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

namespace octet {
namespace {

constexpr int kMaxJpegScans = 500; // a file of many empty scans takes long and shows nothing
constexpr int64_t kJpegBytesPerPixel = 16;
constexpr int kExifMarker = JPEG_APP0 + 1;

struct JpegReader {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf back{};
  char message[JMSG_LENGTH_MAX] = "";
  std::span<const std::byte> bytes;
  ImagePart part = ImagePart::kAll;
  int64_t max_pixels = 0;
  bool too_large = false;
  std::vector<uint8_t> row; ///< of CMYK
  StoredImage out;

  ~JpegReader() { jpeg_destroy_decompress(&jpeg); }
};

JpegReader& reader_of(j_common_ptr jpeg) {
  return *static_cast<JpegReader*>(jpeg->client_data);
}

[[noreturn]] void on_jpeg_error(j_common_ptr jpeg) {
  JpegReader& reader = reader_of(jpeg);
  jpeg->err->format_message(jpeg, reader.message);
  std::longjmp(reader.back, 1);
}

/// Pixels that the decoder makes up for lost ones are no picture. A file that lacks nothing but its
/// last marker has all of them, unless later scans would have refined them.
void on_jpeg_message(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  const int code = jpeg->err->msg_code;
  const bool may_refine = reinterpret_cast<j_decompress_ptr>(jpeg)->progressive_mode != FALSE;
  if ((code == JWRN_JPEG_EOF && may_refine) || code == JWRN_HIT_MARKER ||
      code == JWRN_HUFF_BAD_CODE || code == JWRN_ARITH_BAD_CODE)
    on_jpeg_error(jpeg);
}

void on_jpeg_progress(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= kMaxJpegScans) return;
  JpegReader& reader = reader_of(jpeg);
  std::snprintf(reader.message, sizeof reader.message, "more than %d scans", kMaxJpegScans);
  std::longjmp(reader.back, 1);
}

void keep_jpeg_exif(JpegReader& r) {
  constexpr size_t kNameBytes = 6;
  for (const jpeg_marker_struct* m = r.jpeg.marker_list; m != nullptr; m = m->next) {
    if (m->marker != kExifMarker || m->data_length <= kNameBytes ||
        std::memcmp(m->data, "Exif\0", kNameBytes) != 0)
      continue;
    const auto* begin = reinterpret_cast<const std::byte*>(m->data);
    r.out.exif.assign(begin + kNameBytes, begin + m->data_length);
    return;
  }
}

uint8_t times_255th(int a, int b) {
  const int product = a * b + 128;
  return static_cast<uint8_t>((product + (product >> 8)) >> 8);
}

/// As it is printed: what ink leaves of white. Stored inverted, 255 is no ink.
void cmyk_to_rgb(const std::vector<uint8_t>& from, uint8_t* to) {
  for (size_t i = 0; i + 3 < from.size(); i += 4) {
    const int white = from[i + 3];
    for (size_t c = 0; c < 3; ++c)
      *to++ = static_cast<uint8_t>(white - times_255th(255 - from[i + c], white));
  }
}

void read_jpeg_rows(JpegReader& r) {
  const auto width = static_cast<size_t>(r.jpeg.output_width);
  Pixels& pixels = r.out.pixels;
  pixels.width = static_cast<int64_t>(width);
  pixels.height = static_cast<int64_t>(r.jpeg.output_height);
  pixels.channels = r.jpeg.num_components == 1 ? 1 : 3;
  const size_t row_bytes = width * static_cast<size_t>(pixels.channels);
  pixels.values.resize(row_bytes * r.jpeg.output_height);
  const bool cmyk = r.jpeg.out_color_space == JCS_CMYK;
  if (cmyk) r.row.resize(width * 4);
  while (r.jpeg.output_scanline < r.jpeg.output_height) {
    uint8_t* to = pixels.values.data() + r.jpeg.output_scanline * row_bytes;
    JSAMPROW row = cmyk ? r.row.data() : to;
    jpeg_read_scanlines(&r.jpeg, &row, 1);
    if (cmyk) cmyk_to_rgb(r.row, to);
  }
}

/// False: the message says why.
bool read_jpeg_parts(JpegReader& r) {
  if (setjmp(r.back) != 0) return false;
  jpeg_create_decompress(&r.jpeg);
  r.jpeg.client_data = &r;
  r.jpeg.progress = &r.progress;
  r.jpeg.mem->max_memory_to_use = static_cast<long>(r.max_pixels * kJpegBytesPerPixel);
  jpeg_mem_src(&r.jpeg, reinterpret_cast<const unsigned char*>(r.bytes.data()), r.bytes.size());
  jpeg_save_markers(&r.jpeg, kExifMarker, 0xffff);
  jpeg_read_header(&r.jpeg, TRUE);
  const auto width = static_cast<int64_t>(r.jpeg.image_width);
  const auto height = static_cast<int64_t>(r.jpeg.image_height);
  r.out.header = {width, height, r.jpeg.num_components == 1};
  r.too_large = width * height > r.max_pixels;
  if (r.too_large) return false;
  keep_jpeg_exif(r);
  if (r.part == ImagePart::kHeader) return true;
  r.jpeg.out_color_space = JCS_RGB;
  if (r.jpeg.num_components == 1) r.jpeg.out_color_space = JCS_GRAYSCALE;
  if (r.jpeg.num_components == 4) r.jpeg.out_color_space = JCS_CMYK;
  jpeg_start_decompress(&r.jpeg);
  read_jpeg_rows(r);
  return true;
}

} // namespace

Result<StoredImage>
read_jpeg(std::span<const std::byte> bytes, ImagePart part, int64_t max_pixels) {
  JpegReader reader;
  reader.bytes = bytes;
  reader.part = part;
  reader.max_pixels = max_pixels;
  reader.jpeg.err = jpeg_std_error(&reader.errors);
  reader.jpeg.client_data = &reader;
  reader.errors.error_exit = on_jpeg_error;
  reader.errors.emit_message = on_jpeg_message;
  reader.progress.progress_monitor = on_jpeg_progress;
  if (read_jpeg_parts(reader)) return std::move(reader.out);
  if (reader.too_large)
    OCTET_TRY(check_image_size(reader.out.header.width, reader.out.header.height, max_pixels));
  return error("is a damaged JPEG: {}", reader.message);
}

} // namespace octet

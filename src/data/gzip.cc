// SPDX-License-Identifier: Apache-2.0
#include "data/gzip.h"

#include <algorithm>
#include <limits>

#include "core/check.h"
#include "core/format.h"
#include <zlib.h>

#include "octet/tensor.h"

namespace octet {
namespace {

constexpr size_t kBlock = 1 << 16;
constexpr size_t kLargestStep = 1 << 30; // zlib counts in 32 bits

Bytef* zlib_bytes(const std::byte* p) {
  return reinterpret_cast<Bytef*>(const_cast<std::byte*>(p));
}

int window_bits(Deflate format) {
  return format == Deflate::kRaw ? -MAX_WBITS : MAX_WBITS + 16;
}

} // namespace

Deflate detect_gzip(std::span<const std::byte> bytes) {
  const bool gzip = bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
  return gzip ? Deflate::kGzip : Deflate::kNone;
}

struct InflateStream::State {
  std::span<const std::byte> bytes;
  Deflate format;
  std::string name;
  size_t limit;
  size_t at = 0;
  size_t produced = 0;
  bool finished = false;
  bool ready = false;
  z_stream stream = {};

  State(std::span<const std::byte> b, Deflate f, std::string n, size_t l)
      : bytes(b), format(f), name(std::move(n)), limit(l) {
    if (format != Deflate::kNone) ready = inflateInit2(&stream, window_bits(format)) == Z_OK;
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (ready) inflateEnd(&stream);
  }

  Error above_limit() const {
    return error("{} unpacks to more than {} bytes; it is damaged or not the expected file", name,
                 limit);
  }

  Result<size_t> copy(std::span<std::byte> out) {
    const size_t n = std::min(out.size(), bytes.size() - at);
    std::copy_n(bytes.data() + at, n, out.data());
    at += n;
    produced += n;
    if (produced > limit) return above_limit();
    return n;
  }

  /// The end of one member: another one may follow; zeros that pad a gzip file do not count.
  Status end_of_member() {
    const auto rest = bytes.subspan(at);
    const bool padding =
        std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == std::byte{0}; });
    finished = format == Deflate::kRaw || padding;
    if (finished) return ok_status();
    if (detect_gzip(rest) != Deflate::kGzip)
      return error("{} has {} bytes after its gzip data; fetch it again", name, rest.size());
    if (inflateReset(&stream) != Z_OK) return Error("zlib failed", ErrorCode::kInternal);
    return ok_status();
  }

  Result<size_t> inflate_into(std::span<std::byte> out) {
    if (!ready) return Error("zlib could not start", ErrorCode::kInternal);
    size_t done = 0;
    while (done < out.size() && !finished) {
      const size_t in_step = std::min(bytes.size() - at, kLargestStep);
      const size_t out_step = std::min(out.size() - done, kLargestStep);
      stream.next_in = zlib_bytes(bytes.data() + at);
      stream.avail_in = static_cast<uInt>(in_step);
      stream.next_out = zlib_bytes(out.data() + done);
      stream.avail_out = static_cast<uInt>(out_step);
      const int code = inflate(&stream, Z_NO_FLUSH);
      const size_t taken = in_step - stream.avail_in;
      const size_t given = out_step - stream.avail_out;
      at += taken;
      done += given;
      produced += given;
      if (produced > limit) return above_limit();
      if (code == Z_STREAM_END) {
        OCTET_TRY(end_of_member());
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        return error("{} is damaged after {} bytes of output ({}); fetch it again", name, produced,
                     stream.msg != nullptr ? stream.msg : "deflate error");
      } else if (taken == 0 && given == 0) {
        return error("{} is truncated: its compressed data ends after {} bytes; fetch it again",
                     name, bytes.size());
      }
    }
    return done;
  }
};

InflateStream::InflateStream(std::span<const std::byte> bytes,
                             Deflate format,
                             std::string name,
                             size_t limit_bytes)
    : state_(std::make_unique<State>(bytes, format, std::move(name), limit_bytes)) {}
InflateStream::InflateStream(InflateStream&&) noexcept = default;
InflateStream& InflateStream::operator=(InflateStream&&) noexcept = default;
InflateStream::~InflateStream() = default;

Result<size_t> InflateStream::read(std::span<std::byte> out) {
  if (state_->format == Deflate::kNone) return state_->copy(out);
  return state_->inflate_into(out);
}

size_t InflateStream::consumed() const {
  return state_->at;
}

namespace {

Result<std::string> drain(InflateStream& stream) {
  std::string out;
  while (true) {
    const size_t before = out.size();
    const size_t step = std::max(kBlock, before / 2); // grows with what has come so far
    out.resize(before + step);
    const auto space = std::as_writable_bytes(std::span(out.data() + before, step));
    const size_t n = OCTET_TRY(stream.read(space));
    out.resize(before + n);
    if (n < step) return out;
  }
}

} // namespace

Result<std::string> inflate_all(std::span<const std::byte> bytes,
                                Deflate format,
                                const std::string& name,
                                size_t limit_bytes) {
  InflateStream stream(bytes, format, name, limit_bytes);
  return drain(stream);
}

DataFile::DataFile(std::shared_ptr<Buffer> file, InflateStream stream)
    : file_(std::move(file)), stream_(std::move(stream)) {}

Result<DataFile> DataFile::open(const std::string& path, size_t limit_bytes) {
  std::shared_ptr<Buffer> file = OCTET_TRY(Buffer::map(path));
  const auto bytes = file->bytes();
  InflateStream stream(bytes, detect_gzip(bytes), path, limit_bytes);
  return DataFile(std::move(file), std::move(stream));
}

Result<std::string> DataFile::read_all() {
  return drain(stream_);
}

size_t DataFile::file_bytes() const {
  return file_->bytes().size();
}

std::string gzip_compress(std::span<const std::byte> bytes) {
  OCTET_CHECK(bytes.size() < std::numeric_limits<uInt>::max() / 2);
  z_stream stream = {};
  OCTET_CHECK(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window_bits(Deflate::kGzip), 8,
                           Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = zlib_bytes(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int code = deflate(&stream, Z_FINISH);
  deflateEnd(&stream);
  OCTET_CHECK(code == Z_STREAM_END);
  out.erase(out.end() - static_cast<std::ptrdiff_t>(stream.avail_out), out.end());
  return out;
}

} // namespace octet

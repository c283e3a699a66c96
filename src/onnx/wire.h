// SPDX-License-Identifier: Apache-2.0
// The protobuf wire format: a reader over bytes that stay where they are, and an encoder that keeps
// weights by reference. Lengths are 64 bits wide until they have been checked against what is left.
// Source: protobuf's "Encoding" page.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "octet/tensor.h"

namespace octet::onnx {

/// Bytes of a message or field, inside the file's buffer.
using Bytes = std::string_view;

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

/// Walks over the fields of one message. A failure is kept: `next` returns false from then on and
/// `finish` gives the error, so a loop over the fields needs one check.
class Reader {
 public:
  /// `origin`: the first byte of the file, for offsets in messages.
  Reader(Bytes message, const char* origin)
      : at_(message.data()), end_(message.data() + message.size()), origin_(origin) {}

  /// Moves to the next field and checks all of it.
  bool next();
  uint32_t field() const { return field_; }
  /// The whole field with its tag, as it came.
  Bytes raw() const { return {start_, static_cast<size_t>(at_ - start_)}; }

  /// Whether it failed since a field announces more bytes than follow.
  bool cut_short() const { return cut_short_; }

  /// The field's value; another wire type than expected is a failure.
  int64_t integer();
  float float32();
  double float64();
  Bytes bytes();
  std::string text() { return std::string(bytes()); }

  /// Calls `fn(uint64_t)` for each element of a repeated integer field, packed or not.
  template <class Fn>
  void each_integer(Fn&& fn) {
    if (type_ == WireType::kVarint) return fn(number_);
    Reader packed(expect(WireType::kLength) ? payload_ : Bytes{}, origin_);
    uint64_t value = 0;
    while (packed.at_ != packed.end_) {
      if (!packed.varint(value)) return adopt(packed);
      fn(value);
    }
  }
  /// Calls `fn(Bytes)` with the little-endian bytes of a repeated fixed-width field: one element,
  /// or a packed run of them.
  template <class Fn>
  void fixed_run(WireType element, Fn&& fn) {
    const size_t width = element == WireType::kFixed32 ? 4 : 8;
    if (type_ != element && !expect(WireType::kLength)) return;
    if (payload_.size() % width != 0) return fail("a packed field of a broken length");
    fn(payload_);
  }

  Status finish() const;

 private:
  bool varint(uint64_t& value);
  bool expect(WireType type);
  void fail(std::string why);
  void adopt(const Reader& other) {
    failed_ = true;
    failed_at_ = other.failed_at_;
    problem_ = other.problem_;
  }

  const char* at_;
  const char* end_;
  const char* origin_;
  const char* start_ = nullptr;
  uint32_t field_ = 0;
  WireType type_ = WireType::kVarint;
  uint64_t number_ = 0;
  Bytes payload_;
  bool failed_ = false, cut_short_ = false;
  int64_t failed_at_ = 0;
  std::string problem_;
};

/// Builds a message. Tensors' bytes are referred to and copied only by the one who writes them out.
class Encoder {
 public:
  void integer(uint32_t field, int64_t value);
  void float32(uint32_t field, float value);
  void bytes(uint32_t field, std::string_view value);
  /// Nothing for an empty text.
  void text(uint32_t field, std::string_view value) {
    if (!value.empty()) bytes(field, value);
  }
  void message(uint32_t field, const Encoder& message);
  /// Serialized fields with their tags.
  void raw(std::string_view fields) { text_.append(fields); }
  /// The tensor's bytes as a length-delimited field.
  void blob(uint32_t field, const Tensor& tensor);

  uint64_t size() const { return text_.size() + blob_bytes_; }
  std::string str() const;
  /// Calls `fn(std::string_view) -> Status` for the pieces in order.
  template <class Fn>
  Status pieces(Fn&& fn) const {
    size_t at = 0;
    for (const Blob& b : blobs_) {
      OCTET_TRY(fn(std::string_view(text_).substr(at, b.at - at)));
      OCTET_TRY(fn(std::string_view(reinterpret_cast<const char*>(b.tensor.bytes().data()),
                                    b.tensor.bytes().size())));
      at = b.at;
    }
    return fn(std::string_view(text_).substr(at));
  }

 private:
  struct Blob {
    size_t at; ///< position in text_
    Tensor tensor;
  };
  void tag(uint32_t field, WireType type);
  void varint(uint64_t value);

  std::string text_;
  std::vector<Blob> blobs_;
  uint64_t blob_bytes_ = 0;
};

} // namespace octet::onnx

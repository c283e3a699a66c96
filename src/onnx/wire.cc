// SPDX-License-Identifier: Apache-2.0
#include "onnx/wire.h"

#include <cstring>

#include "core/format.h"
#include <protozero/buffer_string.hpp>
#include <protozero/varint.hpp>

namespace octet::onnx {

static_assert(std::endian::native == std::endian::little, "tensors are stored little-endian");

bool Reader::varint(uint64_t& value) {
  try {
    value = protozero::decode_varint(&at_, end_);
    return true;
  } catch (const protozero::exception&) {
    fail("a number that does not end");
    return false;
  }
}

void Reader::fail(std::string why) {
  if (failed_) return;
  failed_ = true;
  failed_at_ = at_ - origin_;
  problem_ = std::move(why);
}

bool Reader::next() {
  if (failed_ || at_ == end_) return false;
  start_ = at_;
  uint64_t tag = 0;
  if (!varint(tag)) return false;
  if (tag >> 3 == 0 || tag > UINT32_MAX) {
    fail("not a field (is this an ONNX file?)");
    return false;
  }
  field_ = static_cast<uint32_t>(tag >> 3);
  type_ = static_cast<WireType>(tag & 7);
  uint64_t length = 0;
  switch (type_) {
  case WireType::kVarint:
    return varint(number_);
  case WireType::kFixed64:
    length = 8;
    break;
  case WireType::kFixed32:
    length = 4;
    break;
  case WireType::kLength:
    if (!varint(length)) return false;
    break;
  default:
    fail(fmt::format("field {} has the wire type {}, which ONNX does not use", field_, tag & 7));
    return false;
  }
  if (length > static_cast<uint64_t>(end_ - at_)) {
    cut_short_ = !failed_;
    fail(fmt::format("field {}: a length of {} passes the end of the message, {} bytes are left",
                     field_, length, end_ - at_));
    return false;
  }
  payload_ = {at_, static_cast<size_t>(length)};
  at_ += length;
  return true;
}

bool Reader::expect(WireType type) {
  if (failed_) return false;
  if (type_ == type) return true;
  fail(fmt::format("field {}: has the wire type {} instead of {}", field_, static_cast<int>(type_),
                   static_cast<int>(type)));
  return false;
}

int64_t Reader::integer() {
  return expect(WireType::kVarint) ? static_cast<int64_t>(number_) : 0;
}

float Reader::float32() {
  float value = 0;
  if (expect(WireType::kFixed32)) std::memcpy(&value, payload_.data(), sizeof(value));
  return value;
}

double Reader::float64() {
  double value = 0;
  if (expect(WireType::kFixed64)) std::memcpy(&value, payload_.data(), sizeof(value));
  return value;
}

Bytes Reader::bytes() {
  return expect(WireType::kLength) ? payload_ : Bytes{};
}

Status Reader::finish() const {
  if (!failed_) return ok_status();
  return error("byte {}: {}", failed_at_, problem_);
}

void Encoder::varint(uint64_t value) {
  protozero::add_varint_to_buffer(&text_, value);
}

void Encoder::tag(uint32_t field, WireType type) {
  varint(uint64_t{field} << 3 | static_cast<uint64_t>(type));
}

void Encoder::integer(uint32_t field, int64_t value) {
  tag(field, WireType::kVarint);
  varint(static_cast<uint64_t>(value));
}

void Encoder::float32(uint32_t field, float value) {
  tag(field, WireType::kFixed32);
  char bits[sizeof(value)];
  std::memcpy(bits, &value, sizeof(value));
  text_.append(bits, sizeof(bits));
}

void Encoder::bytes(uint32_t field, std::string_view value) {
  tag(field, WireType::kLength);
  varint(value.size());
  text_.append(value);
}

void Encoder::message(uint32_t field, const Encoder& message) {
  tag(field, WireType::kLength);
  varint(message.size());
  const size_t base = text_.size();
  text_.append(message.text_);
  for (const Blob& b : message.blobs_)
    blobs_.push_back({base + b.at, b.tensor});
  blob_bytes_ += message.blob_bytes_;
}

void Encoder::blob(uint32_t field, const Tensor& tensor) {
  tag(field, WireType::kLength);
  varint(tensor.bytes().size());
  if (tensor.bytes().empty()) return;
  blobs_.push_back({text_.size(), tensor});
  blob_bytes_ += tensor.bytes().size();
}

std::string Encoder::str() const {
  std::string out;
  out.reserve(size());
  const Status done = pieces([&](std::string_view piece) -> Status {
    out.append(piece);
    return ok_status();
  });
  (void)done;
  return out;
}

} // namespace octet::onnx

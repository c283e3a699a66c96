// SPDX-License-Identifier: Apache-2.0
// Packed weights as bytes. What a kernel follows (sizes, offsets, indices) is written field by
// field, and whoever reads it has checked the hash of all fields; weights themselves are sections,
// which are looked at where a file maps them. Numbers are little endian.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runtime/kernels/buffer.h"

namespace octet::runtime {

static_assert(std::endian::native == std::endian::little, "numbers are stored as they lie");

template <class T>
concept PackNumber = std::is_arithmetic_v<T> || std::is_enum_v<T>;

class PackWriter {
 public:
  enum class Fields : uint8_t { kKept, kCounted };
  /// Counted fields are not there to be read: for those who ask what a pack takes.
  explicit PackWriter(Fields fields = Fields::kKept) : keeps_(fields == Fields::kKept) {}

  template <PackNumber T>
  void number(T v) {
    append({reinterpret_cast<const char*>(&v), sizeof(T)});
  }
  void text(std::string_view v) {
    number(uint64_t{v.size()});
    append(v);
  }
  template <PackNumber T>
  void numbers(std::span<const T> v) {
    text({reinterpret_cast<const char*>(v.data()), v.size_bytes()});
  }
  template <PackNumber T>
  void list(const std::vector<T>& v) {
    numbers(std::span<const T>(v));
  }
  void size(size_t v) { number(uint64_t{v}); }
  /// Bytes that are checked and copied when they are read.
  void small(const kernels::AlignedBuffer& v) { text({v.as<char>(), v.bytes()}); }
  /// Bytes that stay in the file. They are borrowed.
  void section(const kernels::AlignedBuffer& v) {
    sections_.emplace_back(v.as<std::byte>(), v.bytes());
  }

  const std::string& fields() const { return fields_; }
  size_t field_bytes() const { return field_bytes_; }
  const std::vector<std::span<const std::byte>>& sections() const { return sections_; }

 private:
  void append(std::string_view bytes) {
    field_bytes_ += bytes.size();
    if (keeps_) fields_.append(bytes);
  }

  bool keeps_;
  std::string fields_;
  size_t field_bytes_ = 0;
  std::vector<std::span<const std::byte>> sections_;
};

/// Reads what a PackWriter wrote. Past the end, or after `fail`, everything is 0 and `ok` is false.
class PackReader {
 public:
  /// `fields` and `owner` outlive what is read; sections lie in `owner`, aligned to 64, with a line
  /// after each.
  explicit PackReader(std::string_view fields,
                      std::span<const std::span<const std::byte>> sections = {},
                      std::shared_ptr<const Buffer> owner = nullptr)
      : left_(fields), sections_(sections), owner_(std::move(owner)) {}

  template <PackNumber T>
  T number() {
    using Bytes = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    Bytes v{};
    const std::string_view bytes = take(sizeof(Bytes));
    if (bytes.size() == sizeof(Bytes)) std::memcpy(&v, bytes.data(), sizeof(Bytes));
    if constexpr (std::is_same_v<T, bool>) {
      if (v > 1) fail();
      return v == 1;
    } else {
      return v;
    }
  }
  std::string_view text() { return take(number<uint64_t>()); }
  template <PackNumber T>
  std::vector<T> list() {
    const std::string_view bytes = text();
    if (bytes.size() % sizeof(T) != 0) fail();
    std::vector<T> out(ok_ ? bytes.size() / sizeof(T) : 0);
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
  }
  /// The length of a list whose items take at least `item_bytes` each.
  size_t size(size_t item_bytes) {
    const auto count = number<uint64_t>();
    if (count > left_.size() / item_bytes) fail();
    return ok_ ? static_cast<size_t>(count) : 0;
  }
  kernels::AlignedBuffer small() {
    const std::string_view bytes = text();
    if (!ok_) return {};
    kernels::AlignedBuffer out(bytes.size());
    if (!bytes.empty()) std::memcpy(out.as<std::byte>(), bytes.data(), bytes.size());
    return out;
  }
  kernels::AlignedBuffer section() {
    if (next_section_ >= sections_.size()) fail();
    if (!ok_) return {};
    return {owner_, sections_[next_section_++]};
  }

  void fail() {
    ok_ = false;
    left_ = {};
  }
  void expect(bool holds) {
    if (!holds) fail();
  }
  bool ok() const { return ok_; }
  /// Nothing failed and nothing is left.
  bool done() const { return ok_ && left_.empty() && next_section_ == sections_.size(); }

 private:
  std::string_view take(uint64_t count) {
    if (count > left_.size()) fail();
    if (!ok_) return {};
    const std::string_view out = left_.substr(0, static_cast<size_t>(count));
    left_.remove_prefix(out.size());
    return out;
  }

  std::string_view left_;
  std::span<const std::span<const std::byte>> sections_;
  std::shared_ptr<const Buffer> owner_;
  size_t next_section_ = 0;
  bool ok_ = true;
};

} // namespace octet::runtime

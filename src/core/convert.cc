// SPDX-License-Identifier: Apache-2.0
// Bulk conversion between the bytes of a tensor and doubles, floats and 64-bit integers.
#include "core/convert.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/check.h"
#include "core/format.h"

namespace octet {
namespace {

template <class T>
T load(const std::byte* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void store(std::byte* data, int64_t index, T value) {
  std::memcpy(data + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

/// Calls `fn` with a value of the C++ type of an integer or float type of whole bytes.
template <class Fn>
bool with_native_type(DType type, Fn&& fn) {
  switch (type) {
  case DType::kFloat32:
    return fn(float{}), true;
  case DType::kFloat64:
    return fn(double{}), true;
  case DType::kUint8:
    return fn(uint8_t{}), true;
  case DType::kInt8:
    return fn(int8_t{}), true;
  case DType::kUint16:
    return fn(uint16_t{}), true;
  case DType::kInt16:
    return fn(int16_t{}), true;
  case DType::kUint32:
    return fn(uint32_t{}), true;
  case DType::kInt32:
    return fn(int32_t{}), true;
  case DType::kUint64:
    return fn(uint64_t{}), true;
  case DType::kInt64:
    return fn(int64_t{}), true;
  default:
    return false;
  }
}

int64_t integer_of_code(DType type, uint8_t code) {
  const int width = bits(type);
  const int sign = 1 << (width - 1);
  return is_signed(type) ? (code ^ sign) - sign : code;
}

/// Rounds half to even and saturates into [lowest, highest]; NaN gives 0.
template <class T>
T to_integer(double value) {
  if (std::isnan(value)) return 0;
  const double rounded = std::nearbyint(value);
  // The upper limit of 64-bit types is no double: compare with the power of two above it.
  const double limit = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (rounded >= limit) return std::numeric_limits<T>::max();
  if (rounded < static_cast<double>(std::numeric_limits<T>::lowest()))
    return std::numeric_limits<T>::lowest();
  return static_cast<T>(rounded);
}

/// Integer limits of a sub-byte type.
std::pair<int64_t, int64_t> limits_of(DType type) {
  const int64_t span = int64_t{1} << bits(type);
  return is_signed(type) ? std::pair(-span / 2, span / 2 - 1) : std::pair(int64_t{0}, span - 1);
}

/// A double that rounds to any format of at most 32 bits as the integer itself would: the bits
/// that a double cannot hold are gathered in its last one (round to odd).
double to_sticky_double(int64_t value) {
  const uint64_t magnitude =
      value < 0 ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
  const int excess = 64 - std::countl_zero(magnitude) - 53;
  if (excess <= 0) return static_cast<double>(value);
  const uint64_t rest = magnitude & ((uint64_t{1} << excess) - 1);
  const uint64_t kept = (magnitude >> excess) | (rest != 0 ? 1 : 0);
  const double result = std::ldexp(static_cast<double>(kept), excess);
  return value < 0 ? -result : result;
}

Error unconvertible(DType type) {
  return error(ErrorCode::kUnsupported,
               "elements of type {} have no numeric value; convert the tensor with Cast first",
               name(type));
}

bool has_value(DType type) {
  return is_float(type) || is_integer(type) || type == DType::kBool;
}

void check_size(DType type, size_t available, size_t count) {
  OCTET_CHECK(bytes_for(type, static_cast<int64_t>(count)) <= static_cast<int64_t>(available));
}

/// The values of all codes of a type of at most 8 bits.
std::array<double, 256> decode_table(DType type) {
  std::array<double, 256> table{};
  const FloatFormat* format = float_format(type);
  for (int code = 0; code < 1 << bits(type); ++code) {
    const auto byte = static_cast<uint8_t>(code);
    auto& value = table[static_cast<size_t>(code)];
    if (type == DType::kBool) {
      value = byte != 0 ? 1 : 0;
    } else if (type == DType::kFloat8E8M0) {
      value = decode_e8m0(byte);
    } else {
      value = format != nullptr ? decode(*format, byte)
                                : static_cast<double>(integer_of_code(type, byte));
    }
  }
  return table;
}

template <class Out>
void read_native(DType type, const std::byte* data, std::span<Out> out) {
  const auto count = static_cast<int64_t>(out.size());
  with_native_type(type, [&](auto zero) {
    for (int64_t i = 0; i < count; ++i) {
      const auto value = load<decltype(zero)>(data, i);
      if constexpr (std::is_same_v<Out, int64_t> && std::is_floating_point_v<decltype(zero)>) {
        out[static_cast<size_t>(i)] = to_integer<int64_t>(value);
      } else if constexpr (std::is_same_v<Out, int64_t> &&
                           std::is_same_v<decltype(zero), uint64_t>) {
        constexpr uint64_t kTop = std::numeric_limits<int64_t>::max();
        out[static_cast<size_t>(i)] = static_cast<int64_t>(value < kTop ? value : kTop);
      } else {
        out[static_cast<size_t>(i)] = static_cast<Out>(value);
      }
    }
  });
}

template <class Out>
Status read_as(DType type, std::span<const std::byte> data, std::span<Out> out) {
  if (!has_value(type)) return unconvertible(type);
  check_size(type, data.size(), out.size());
  const auto count = static_cast<int64_t>(out.size());
  const auto put = [&](int64_t i, double value) {
    if constexpr (std::is_same_v<Out, int64_t>) {
      out[static_cast<size_t>(i)] = to_integer<int64_t>(value);
    } else {
      out[static_cast<size_t>(i)] = static_cast<Out>(value);
    }
  };
  if (with_native_type(type, [](auto) {})) {
    read_native(type, data.data(), out);
  } else if (type == DType::kFloat16 || type == DType::kBfloat16) {
    const bool half = type == DType::kFloat16;
    for (int64_t i = 0; i < count; ++i) {
      const auto code = load<uint16_t>(data.data(), i);
      put(i, half ? f16_to_float(code) : bf16_to_float(code));
    }
  } else {
    const std::array<double, 256> table = decode_table(type);
    for (int64_t i = 0; i < count; ++i)
      put(i, table[get_code(type, data.data(), i)]);
  }
  return ok_status();
}

/// Writes one value into a type that is neither native nor an integer.
void write_small_float(DType type, std::byte* data, int64_t i, double value, Saturate saturate) {
  if (type == DType::kBool) {
    put_code(type, data, i, value != 0 ? 1 : 0);
  } else if (type == DType::kFloat8E8M0) {
    put_code(type, data, i, encode_e8m0(value, E8m0Rounding::kNearest, saturate));
  } else {
    const FloatFormat& format = *float_format(type);
    if (format.width() == 16) {
      store(data, i, static_cast<uint16_t>(encode(format, value, Saturate::kNo)));
    } else {
      put_code(type, data, i, static_cast<uint8_t>(encode(format, value, saturate)));
    }
  }
}

void write_sub_byte_integer(DType type, std::byte* data, int64_t i, double value) {
  const auto [lowest, highest] = limits_of(type);
  const auto wide = to_integer<int64_t>(value);
  const int64_t clipped = wide < lowest ? lowest : wide > highest ? highest : wide;
  put_code(type, data, i, static_cast<uint8_t>(clipped));
}

template <class In>
Status write_from(DType type, std::span<const In> values, std::span<std::byte> data, Saturate sat) {
  if (!has_value(type)) return unconvertible(type);
  check_size(type, data.size(), values.size());
  const auto count = static_cast<int64_t>(values.size());
  const bool native = with_native_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < count; ++i) {
      const In value = values[static_cast<size_t>(i)];
      if constexpr (std::is_floating_point_v<T>) {
        store(data.data(), i, static_cast<T>(value));
      } else {
        store(data.data(), i, to_integer<T>(value));
      }
    }
  });
  if (native) return ok_status();
  for (int64_t i = 0; i < count; ++i) {
    const double value = values[static_cast<size_t>(i)];
    if (is_integer(type)) {
      write_sub_byte_integer(type, data.data(), i, value);
    } else {
      write_small_float(type, data.data(), i, value, sat);
    }
  }
  return ok_status();
}

template <class T>
T narrow(int64_t value, Saturate saturate) {
  if (saturate == Saturate::kYes) {
    if constexpr (std::is_unsigned_v<T>) {
      if (value < 0) return 0;
    }
    if constexpr (sizeof(T) < sizeof(int64_t)) {
      if (value < static_cast<int64_t>(std::numeric_limits<T>::min()))
        return std::numeric_limits<T>::min();
      if (value > static_cast<int64_t>(std::numeric_limits<T>::max()))
        return std::numeric_limits<T>::max();
    }
  }
  return static_cast<T>(value);
}

} // namespace

uint8_t get_code(DType type, const std::byte* data, int64_t index) {
  const int width = bits(type);
  if (width == 8) return std::to_integer<uint8_t>(data[index]);
  const int64_t bit = index * width;
  const int shift = static_cast<int>(bit % 8);
  unsigned word = std::to_integer<unsigned>(data[bit / 8]);
  if (shift + width > 8) word |= std::to_integer<unsigned>(data[bit / 8 + 1]) << 8;
  return static_cast<uint8_t>((word >> shift) & ((1U << width) - 1));
}

void put_code(DType type, std::byte* data, int64_t index, uint8_t code) {
  const int width = bits(type);
  if (width == 8) {
    data[index] = std::byte{code};
    return;
  }
  const int64_t bit = index * width;
  const int shift = static_cast<int>(bit % 8);
  const unsigned mask = (1U << width) - 1;
  const unsigned clear = ~(mask << shift);
  const unsigned set = (code & mask) << shift;
  std::byte& low = data[bit / 8];
  low = static_cast<std::byte>((std::to_integer<unsigned>(low) & clear & 0xff) | (set & 0xff));
  if (shift + width > 8) {
    std::byte& high = data[bit / 8 + 1];
    high = static_cast<std::byte>((std::to_integer<unsigned>(high) & (clear >> 8) & 0xff) |
                                  (set >> 8));
  }
}

double read_double(DType type, const std::byte* data, int64_t index) {
  OCTET_CHECK(has_value(type));
  double out = 0;
  const bool native = with_native_type(
      type, [&](auto zero) { out = static_cast<double>(load<decltype(zero)>(data, index)); });
  if (native) return out;
  if (type == DType::kFloat16) return f16_to_float(load<uint16_t>(data, index));
  if (type == DType::kBfloat16) return bf16_to_float(load<uint16_t>(data, index));
  const uint8_t code = get_code(type, data, index);
  if (type == DType::kBool) return code != 0 ? 1 : 0;
  if (type == DType::kFloat8E8M0) return decode_e8m0(code);
  if (const FloatFormat* format = float_format(type)) return decode(*format, code);
  return static_cast<double>(integer_of_code(type, code));
}

Status read_doubles(DType type, std::span<const std::byte> data, std::span<double> out) {
  return read_as(type, data, out);
}
Status read_floats(DType type, std::span<const std::byte> data, std::span<float> out) {
  return read_as(type, data, out);
}
Status read_ints(DType type, std::span<const std::byte> data, std::span<int64_t> out) {
  return read_as(type, data, out);
}

Status write_doubles(DType type,
                     std::span<const double> values,
                     std::span<std::byte> data,
                     Saturate saturate) {
  return write_from(type, values, data, saturate);
}
Status write_floats(DType type,
                    std::span<const float> values,
                    std::span<std::byte> data,
                    Saturate saturate) {
  return write_from(type, values, data, saturate);
}

Status write_ints(DType type,
                  std::span<const int64_t> values,
                  std::span<std::byte> data,
                  Saturate saturate) {
  if (!has_value(type)) return unconvertible(type);
  check_size(type, data.size(), values.size());
  const auto count = static_cast<int64_t>(values.size());
  const bool native = with_native_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t value = values[static_cast<size_t>(i)];
      if constexpr (std::is_floating_point_v<T>) {
        store(data.data(), i, static_cast<T>(value));
      } else {
        store(data.data(), i, narrow<T>(value, saturate));
      }
    }
  });
  if (native) return ok_status();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = values[static_cast<size_t>(i)];
    if (is_integer(type) && saturate == Saturate::kNo) {
      put_code(type, data.data(), i, static_cast<uint8_t>(value));
    } else if (is_integer(type)) {
      const auto [lowest, highest] = limits_of(type);
      const int64_t clipped = value < lowest ? lowest : value > highest ? highest : value;
      put_code(type, data.data(), i, static_cast<uint8_t>(clipped));
    } else {
      write_small_float(type, data.data(), i, to_sticky_double(value), saturate);
    }
  }
  return ok_status();
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/convert.h"

#include <limits>

#include "core/codec.h"
#include "core/threads.h"

namespace octet::kernels {
namespace {

constexpr double kConvertElementNs = 0.5;

template <typename To, typename From>
To converted(From v) {
  return static_cast<To>(v);
}
template <>
float converted<float, int64_t>(int64_t v) {
  // Through double, as everything that becomes a float.
  return static_cast<float>(static_cast<double>(v));
}

/// f16 and bf16 by their codes.
template <float (*kDecode)(uint16_t)>
void run_from_half(const void* x, int64_t begin, int64_t end, void* y) {
  for (int64_t i = begin; i < end; ++i) {
    static_cast<float*>(y)[i] = kDecode(static_cast<const uint16_t*>(x)[i]);
  }
}
template <uint16_t (*kEncode)(float)>
void run_to_half(const void* x, int64_t begin, int64_t end, void* y) {
  for (int64_t i = begin; i < end; ++i) {
    static_cast<uint16_t*>(y)[i] = kEncode(static_cast<const float*>(x)[i]);
  }
}

template <typename From, typename To>
void run(const void* x, int64_t begin, int64_t end, void* y) {
  for (int64_t i = begin; i < end; ++i) {
    static_cast<To*>(y)[i] = converted<To, From>(static_cast<const From*>(x)[i]);
  }
}

template <typename From>
void run_bool(const void* x, int64_t begin, int64_t end, void* y) {
  for (int64_t i = begin; i < end; ++i) {
    static_cast<uint8_t*>(y)[i] = static_cast<const From*>(x)[i] != From{0} ? 1 : 0;
  }
}

/// Without its fraction, the nearest number that the type has; NaN is 0.
template <typename From, typename To>
void run_truncated(const void* x, int64_t begin, int64_t end, void* y) {
  // The bounds are powers of two, or what lies below them in From: both exact.
  constexpr auto kLow = static_cast<From>(std::numeric_limits<To>::min());
  constexpr To kHalfOfEnd = std::numeric_limits<To>::max() / 2 + 1;
  constexpr From kEnd = static_cast<From>(kHalfOfEnd) * 2;
  for (int64_t i = begin; i < end; ++i) {
    const From v = static_cast<const From*>(x)[i];
    To r = 0;
    if (v >= kEnd) {
      r = std::numeric_limits<To>::max();
    } else if (v >= kLow) {
      r = static_cast<To>(v);
    } else if (v < kLow) {
      // Above kLow - 1 the fraction alone is too much.
      r = std::numeric_limits<To>::min();
    }
    static_cast<To*>(y)[i] = r;
  }
}

template <typename From>
ConvertFn from_reals(DType to) {
  switch (to) {
  case DType::kFloat32:
    return run<From, float>;
  case DType::kFloat64:
    return run<From, double>;
  case DType::kInt64:
    return run_truncated<From, int64_t>;
  case DType::kInt32:
    return run_truncated<From, int32_t>;
  case DType::kInt16:
    return run_truncated<From, int16_t>;
  case DType::kInt8:
    return run_truncated<From, int8_t>;
  case DType::kUint32:
    return run_truncated<From, uint32_t>;
  case DType::kUint16:
    return run_truncated<From, uint16_t>;
  case DType::kUint8:
    return run_truncated<From, uint8_t>;
  case DType::kBool:
    return run_bool<From>;
  default:
    return nullptr;
  }
}

template <typename From>
ConvertFn from_integers(DType to) {
  switch (to) {
  case DType::kInt16:
  case DType::kUint16:
    return run<From, uint16_t>;
  case DType::kInt8:
  case DType::kUint8:
    return run<From, uint8_t>;
  case DType::kUint32:
    return run<From, uint32_t>;
  case DType::kUint64:
    return run<From, uint64_t>;
  case DType::kFloat64:
    return run<From, double>;
  case DType::kFloat32:
    return run<From, float>;
  case DType::kInt64:
    return run<From, int64_t>;
  case DType::kInt32:
    return run<From, int32_t>;
  case DType::kBool:
    return run_bool<From>;
  default:
    return nullptr;
  }
}

} // namespace

ConvertFn conversion(DType from, DType to) {
  switch (from) {
  case DType::kInt64:
    return from_integers<int64_t>(to);
  case DType::kInt32:
    return from_integers<int32_t>(to);
  case DType::kInt16:
    return from_integers<int16_t>(to);
  case DType::kUint32:
    return from_integers<uint32_t>(to);
  case DType::kUint16:
    return from_integers<uint16_t>(to);
  case DType::kInt8:
    return from_integers<int8_t>(to);
  case DType::kUint8:
  case DType::kBool:
    return from_integers<uint8_t>(to);
  case DType::kFloat32:
    if (to == DType::kFloat16) return run_to_half<f16_from_float>;
    if (to == DType::kBfloat16) return run_to_half<bf16_from_float>;
    return from_reals<float>(to);
  case DType::kFloat64:
    return from_reals<double>(to);
  case DType::kFloat16:
    return to == DType::kFloat32 ? run_from_half<f16_to_float> : nullptr;
  case DType::kBfloat16:
    return to == DType::kFloat32 ? run_from_half<bf16_to_float> : nullptr;
  default:
    return nullptr;
  }
}

void convert(ConvertFn fn, const void* x, int64_t count, void* y, ParallelFor& parallel) {
  parallel.run(count, grain_for(kConvertElementNs),
               [&](int64_t begin, int64_t end) { fn(x, begin, end, y); });
}

} // namespace octet::kernels

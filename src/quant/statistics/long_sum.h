// SPDX-License-Identifier: Apache-2.0
// A sum of floating-point numbers without rounding: an integer wide enough for all of them, so that
// neither the order of terms nor how they were cut into batches shows. Source: Kulisch and Miranker
// 1981, "Computer Arithmetic in Theory and Practice", long accumulators.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace octet {

/// Exact for terms whose last bit is at least 2^-300 and whose magnitude is below 2^257: f32
/// numbers and products of two. Up to 2^62 terms.
class LongSum {
 public:
  static constexpr int kDigits = 20;
  /// Digits of 32 bits, the lowest first, each from 0 to 2^32 - 1 but for the last, which has the
  /// sign: the same sum, the same digits.
  using Digits = std::array<int64_t, kDigits>;

  void add(double x) {
    if (x == 0) return;
    const auto bits = std::bit_cast<uint64_t>(x);
    constexpr int kMantissa = 52, kBias = 1075;
    constexpr uint64_t kOne = uint64_t{1} << kMantissa;
    auto mantissa = static_cast<int64_t>((bits & (kOne - 1)) | kOne);
    if (x < 0) mantissa = -mantissa;
    const int shift = static_cast<int>((bits >> kMantissa) & 0x7FF) - kBias + kLowest;
    if (shift < 0) mantissa >>= -shift; // zeros: no term has a bit below
    const int low = std::max(shift, 0);
    const int digit = low / kBits;
    const __int128 wide = static_cast<__int128>(mantissa) << (low % kBits);
    digits_[index(digit)] += static_cast<int64_t>(wide & kMask);
    digits_[index(digit + 1)] += static_cast<int64_t>((wide >> kBits) & kMask);
    digits_[index(digit + 2)] += static_cast<int64_t>(wide >> (2 * kBits));
    if (++unsettled_ == kMostUnsettled) settle();
  }
  void merge(const LongSum& other) {
    const Digits theirs = other.digits();
    for (size_t i = 0; i < digits_.size(); ++i)
      digits_[i] += theirs[i];
    settle();
  }
  Digits digits() const {
    LongSum settled = *this;
    settled.settle();
    return settled.digits_;
  }
  /// The sum, rounded once or twice at the end.
  double value() const {
    const Digits all = digits();
    double sum = 0;
    for (int i = kDigits; i-- > 0;)
      sum += std::ldexp(static_cast<double>(all[index(i)]), i * kBits - kLowest);
    return sum;
  }

 private:
  static constexpr int kBits = 32;
  static constexpr int kLowest = 300; ///< the last bit is 2^-300
  static constexpr int64_t kMask = (int64_t{1} << kBits) - 1;
  static constexpr int64_t kMostUnsettled = int64_t{1} << 29;
  static size_t index(int digit) { return static_cast<size_t>(digit); }

  /// Carries what does not fit into a digit into the next.
  void settle() {
    for (int i = 0; i + 1 < kDigits; ++i) {
      digits_[index(i + 1)] += digits_[index(i)] >> kBits;
      digits_[index(i)] &= kMask;
    }
    unsettled_ = 0;
  }

  Digits digits_{};
  int64_t unsettled_ = 0; ///< terms since the last carry
};

} // namespace octet

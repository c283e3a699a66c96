// SPDX-License-Identifier: Apache-2.0
// The loops of observers over many numbers. The scalar form is the specification; the vector form
// gives the same, as none of it depends on an order.
#pragma once

#include <cstdint>

namespace octet {

struct Extremes {
  float lo = 0;
  float hi = 0;
};

/// Histogram::kBins, as a shift.
inline constexpr int kBinsLog2 = 11;
/// The place of a zero, behind the bins of positive and those of negative numbers.
inline constexpr uint16_t kPlaceOfZero = 2U << kBinsLog2;

struct ObserverLoops {
  /// Smallest and largest of at least one number: true. False: one of them is NaN or infinite, and
  /// `found` says nothing.
  bool (*extremes)(const float* x, int64_t count, Extremes& found);
  /// Where finite numbers below 2^(exponent + kBinsLog2) in magnitude are counted: |x| / 2^exponent
  /// rounded down, 1 << kBinsLog2 more where x is below 0; kPlaceOfZero for both zeros.
  void (*places)(const float* x, int64_t count, int exponent, uint16_t* place);
};

/// The best loops for this processor, or those that OCTET_ISA allows.
const ObserverLoops& observer_loops();
extern const ObserverLoops kObserverScalar;
extern const ObserverLoops kObserverAvx2;

} // namespace octet

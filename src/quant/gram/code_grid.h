// SPDX-License-Identifier: Apache-2.0
// The numbers that codes of a weight stand for before they are multiplied by their scale.
#pragma once

#include <vector>

#include "core/codec.h"

#include "octet/observer.h"

namespace octet {

class CodeGrid {
 public:
  /// All whole numbers from `lowest` to `highest`.
  static CodeGrid whole(double lowest, double highest);
  /// Those of a scheme: of integers less the zero point, of floating-point formats the finite ones.
  /// The scheme's codes have at most 8 bits.
  static CodeGrid of(const Scheme& scheme, int32_t zero_point);

  double lowest() const { return lowest_; }
  double highest() const { return highest_; }

  /// Half goes to even codes; what lies outside goes to the end.
  double nearest(double x) const;
  /// The numbers on either side of x: the largest that is not above it and the next one. Outside,
  /// and at the highest number, both are the end.
  struct Sides {
    double below, above;
  };
  Sides sides(double x) const;

 private:
  double lowest_ = 0, highest_ = 0;
  const FloatFormat* format_ = nullptr; ///< none: whole numbers
  std::vector<double> numbers_;         ///< of a floating-point format, ascending
};

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// A weight coded anew.
#pragma once

#include "ops/qdq/grid.h"

namespace octet {

struct Recoded {
  Tensor codes;
  double error = 0;    ///< the largest difference from what was finite
  bool bounded = true; ///< all values were finite; others become zero
};

/// Codes of `values`, rounding half to even. Nullopt for codes that are no integers.
std::optional<Recoded> recode(const Tensor& values, const qdq::Grid& grid);

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// What numbers are drawn from, as integrals need it.
#pragma once

#include <functional>

#include "octet/format_noise.h"

namespace octet {

/// A density that is the same on both sides of 0.
struct Density {
  std::function<double(double)> at; ///< of x from 0 to `reach`; not normalized
  double reach = 1;
};
Density density_of(const Distribution& distribution);
/// An error for a parameter out of bounds.
Status check_distribution(const Distribution& distribution);

/// The integral of f over [a, b], a <= b, by Gauss-Legendre of eight points on pieces of at most
/// half a unit, and of a tenth of the larger bound where that is more.
double integral(const std::function<double(double)>& f, double a, double b);

} // namespace octet

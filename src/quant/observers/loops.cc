// SPDX-License-Identifier: Apache-2.0
// Scalar loops of observers, and the choice between them and the vector ones.
#include "quant/observers/loops.h"

#include <algorithm>
#include <cmath>

#include "core/cpu.h"
#include "core/for_isa.h"

namespace octet {

namespace {

bool extremes(const float* x, int64_t count, Extremes& found) {
  found = {x[0], x[0]};
  bool finite = true;
  for (int64_t i = 0; i < count; ++i) {
    finite = finite && std::isfinite(x[i]);
    found.lo = std::min(found.lo, x[i]);
    found.hi = std::max(found.hi, x[i]);
  }
  return finite;
}

void places(const float* x, int64_t count, int exponent, uint16_t* place) {
  const double inverse = std::ldexp(1.0, -exponent); // exact, and so is the product
  for (int64_t i = 0; i < count; ++i) {
    const auto bin = static_cast<uint16_t>(std::fabs(static_cast<double>(x[i])) * inverse);
    const auto side = static_cast<uint16_t>(x[i] < 0 ? 1U << kBinsLog2 : 0U);
    place[i] = x[i] == 0 ? kPlaceOfZero : static_cast<uint16_t>(bin | side);
  }
}

} // namespace

const ObserverLoops kObserverScalar{extremes, places};

const ObserverLoops& observer_loops() {
  static const ObserverLoops* const kChosen = [] {
    const Result<Isa> isa = selected_isa();
    return for_isa<&kObserverScalar, Isa::kAvx2, &kObserverAvx2>(isa.ok() ? *isa : Isa::kScalar);
  }();
  return *kChosen;
}

} // namespace octet

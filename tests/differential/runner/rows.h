// SPDX-License-Identifier: Apache-2.0
// Elements that an operator reduces together.
#pragma once

#include "runner/rules.h"

namespace octet::differential {

/// Elements of the reduced axes: [outer, length, inner].
struct Rows {
  int64_t outer = 1, length = 1, inner = 1;
  template <class F>
  void each(F f) const {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i)
        f([this, o, i](int64_t k) { return static_cast<size_t>((o * length + k) * inner + i); });
  }
};

inline Rows rows(const Tensor& x, int64_t first, int64_t last) {
  Rows out;
  for (int64_t i = 0; i < x.rank(); ++i)
    (i < first ? out.outer : i < last ? out.length : out.inner) *= x.dim(i);
  return out;
}

inline int64_t wrapped_axis(const Step& s, int64_t otherwise) {
  const int64_t axis = s.node.attr_int("axis", otherwise);
  return axis < 0 ? axis + s.in[0].value.rank() : axis;
}

} // namespace octet::differential

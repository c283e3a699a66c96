// SPDX-License-Identifier: Apache-2.0
// What the forms of GridSample share: attributes, and where a coordinate of the grid reads an axis.
#pragma once

#include "ops/shared/sampling.h"
#include "ops/shared/types.h"

namespace octet {

struct GridSampleAttrs {
  Sampling mode = Sampling::kLinear;
  Beyond beyond = Beyond::kZeros;
  bool align_corners = false;
};

Result<GridSampleAttrs> parse_grid_sample(const Node& node);

/// An axis of x of `size` elements.
inline SampledAxis grid_axis(const GridSampleAttrs& a, int64_t size) {
  const double half = a.align_corners ? 0 : 0.5;
  return {size, -half, static_cast<double>(size - 1) + half};
}

/// Taps of that axis at coordinate `g`: -1 and 1 are its ends.
inline Taps grid_taps(const GridSampleAttrs& a, const SampledAxis& axis, double g) {
  const auto size = static_cast<double>(axis.size);
  const double place = a.align_corners ? (g + 1) / 2 * (size - 1) : ((g + 1) * size - 1) / 2;
  return taps_at(axis, place, a.mode, a.beyond);
}

} // namespace octet

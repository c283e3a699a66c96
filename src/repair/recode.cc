// SPDX-License-Identifier: Apache-2.0
#include "repair/recode.h"

#include <algorithm>
#include <cmath>

#include "ops/qdq/grid.h"

namespace octet {

std::optional<Recoded> recode(const Tensor& values, const qdq::Grid& grid) {
  const auto range = grid.code_range();
  if (!range) return std::nullopt;
  const QuantLayout layout = grid.layout(values.shape());
  std::vector<double> codes;
  Recoded out;
  for (int64_t o = 0; o < layout.outer; ++o)
    for (int64_t a = 0; a < layout.axis_size; ++a)
      for (int64_t i = 0; i < layout.inner; ++i) {
        const int64_t c = layout.scale_index(o, a, i);
        const double s = grid.scale_at(c), z = grid.zero_at(c);
        const double v = values.at(static_cast<int64_t>(codes.size()));
        const double finite = std::isfinite(v) ? v : 0;
        codes.push_back(std::clamp(std::nearbyint(finite / s) + z, static_cast<double>(range->lo),
                                   static_cast<double>(range->hi)));
        // As DequantizeLinear gives it, rounded once to float.
        const double is = qdq::as_float((codes.back() - z) * s);
        out.bounded = out.bounded && std::isfinite(v);
        out.error = std::max(out.error, std::abs(finite - is));
      }
  auto tensor = Tensor::from_doubles(grid.codes, values.shape(), codes);
  if (!tensor.ok()) return std::nullopt;
  out.codes = *tensor;
  return out;
}

} // namespace octet

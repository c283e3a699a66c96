// SPDX-License-Identifier: Apache-2.0
#include "targets/repair/recode.h"

#include <algorithm>
#include <cmath>

namespace octet {

std::optional<Recoded> recode(const Tensor& values, const Coding& coding) {
  const auto range = code_range(coding.codes);
  if (!range) return std::nullopt;
  const QuantLayout layout =
      quant_layout(values.shape(), scale_tensor(coding).shape(), coding.axis, 0);
  std::vector<double> codes;
  Recoded out;
  for (int64_t o = 0; o < layout.outer; ++o)
    for (int64_t a = 0; a < layout.axis_size; ++a)
      for (int64_t i = 0; i < layout.inner; ++i) {
        const auto c = static_cast<size_t>(layout.scale_index(o, a, i));
        const double s = coding.scales[c], z = coding.zeros[c];
        const double v = values.at(static_cast<int64_t>(codes.size()));
        const double finite = std::isfinite(v) ? v : 0;
        codes.push_back(std::clamp(std::nearbyint(finite / s) + z, static_cast<double>(range->lo),
                                   static_cast<double>(range->hi)));
        // As DequantizeLinear gives it, rounded once to float.
        const double is = as_float((codes.back() - z) * s);
        out.bounded = out.bounded && std::isfinite(v);
        out.error = std::max(out.error, std::abs(finite - is));
      }
  auto tensor = Tensor::from_doubles(coding.codes, values.shape(), codes);
  if (!tensor.ok()) return std::nullopt;
  out.codes = *tensor;
  return out;
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// A constant scale that no parser refuses and that quantizes nothing. Source: docs/targets.md 1.1.
#include <cmath>

#include "core/format.h"
#include "targets/checks.h"

namespace octet {

std::string fix_of_scale(const Node& node, const Tensor& scale, int64_t index) {
  const double s = scale.at(index);
  if (s < 0) return "take its magnitude and change the sign of stored codes: octet repair does";
  if (scale.count() > 1)
    return fmt::format("scale {} is {}: give an all-zero channel the smallest other scale", index,
                       s);
  return fmt::format("the scale is {}: {}", s,
                     is_quantize(node) ? "calibrate the tensor again, or give it its largest "
                                         "magnitude / 127"
                                       : "write the scale that its codes were made with");
}

void odd_scale(const CheckContext& context, const Node& node) {
  if (!is_qdq(node)) return;
  const Tensor* scale = qdq::written(context.graph, node).scales;
  if (scale == nullptr || !is_float(scale->type())) return;
  for (int64_t i = 0; i < scale->count(); ++i) {
    const double s = scale->at(i);
    if (s > 0 && !std::isinf(s)) continue;
    const std::string_view what = std::isnan(s) ? "what it makes is NaN or any code"
                                  : s < 0  ? "integer products and clamps expect a positive one"
                                  : s == 0 ? "Q divides by it, DQ makes zeros of every code"
                                           : "Q makes zeros of every value";
    context.add(s <= 0 || std::isnan(s) ? "scale-not-positive" : "scale-not-normal",
                Severity::kWarning, label(context.graph, node),
                fmt::format("scale {} is {}: it is taken without a word, and {}", i, s, what),
                std::isinf(s) ? "use a finite scale" : fix_of_scale(node, *scale, i), "1.1, 7");
    return;
  }
}

} // namespace octet

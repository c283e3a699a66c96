// SPDX-License-Identifier: Apache-2.0
// A constant scale that no parser refuses and that quantizes nothing. Source: docs/targets.md 1.1.
#include <cmath>

#include "core/format.h"
#include "targets/shared_rules.h"

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

namespace {

struct OddScale {
  const Tensor& scales;
  int64_t index;
  double value;
};

/// The first scale that is not positive, or infinite.
std::optional<OddScale> odd_scale(const CheckContext& context, const Node& node) {
  const Tensor* scale = qdq::written(context.graph, node).scales;
  if (scale == nullptr || !is_float(scale->type())) return std::nullopt;
  for (int64_t i = 0; i < scale->count(); ++i)
    if (const double s = scale->at(i); !(s > 0) || std::isinf(s)) return OddScale{*scale, i, s};
  return std::nullopt;
}

std::string taken(const OddScale& odd, std::string_view what) {
  return fmt::format("scale {} is {}: it is taken without a word, and {}", odd.index, odd.value,
                     what);
}

} // namespace

void find_scale_not_positive(const CheckContext& context, const Node& node, Found& found) {
  const auto odd = odd_scale(context, node);
  if (!odd || odd->value > 0) return;
  const std::string_view what = std::isnan(odd->value) ? "what it makes is NaN or any code"
                                : odd->value < 0
                                    ? "integer products and clamps expect a positive one"
                                    : "Q divides by it, DQ makes zeros of every code";
  found.add(node, taken(*odd, what),
            std::isinf(odd->value) ? "use a finite scale"
                                   : fix_of_scale(node, odd->scales, odd->index));
}

void find_scale_infinite(const CheckContext& context, const Node& node, Found& found) {
  const auto odd = odd_scale(context, node);
  if (odd && odd->value > 0)
    found.add(node, taken(*odd, "Q makes zeros of every value"), "use a finite scale");
}

} // namespace octet

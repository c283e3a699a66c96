// SPDX-License-Identifier: Apache-2.0
// octet.native FakeQuantize (1), f32. What DequantizeLinear gives of the codes that QuantizeLinear
// makes: clamp(round_half_even(x / scale), lo, hi) * scale, where lo and hi are the codes' range less
// their zero point. Of NaN 0; a zero is positive.
#include <cmath>

#include "core/format.h"
#include "ops/native/unary.h"

namespace octet::native::op_FakeQuantize {
namespace {

/// Whole numbers up to here are floats.
constexpr int64_t kMost = int64_t{1} << 24;

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  const float scale = c.node.attr_float("scale", 0);
  const int64_t lo = c.node.attr_int("lo", 1), hi = c.node.attr_int("hi", -1);
  if (!(scale > 0) || !std::isfinite(scale))
    return error("attribute scale is {}; it must be positive and finite", scale);
  if (lo < -kMost || lo > 0 || hi < 0 || hi > kMost)
    return error("attributes lo and hi are {} and {}; they must be {} to 0 and 0 to {}", lo, hi,
                 -kMost, kMost);
  return infer_float(c);
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const float scale = c.node.attr_float("scale", 0);
  const auto lo = static_cast<float>(c.node.attr_int("lo", 0));
  const auto hi = static_cast<float>(c.node.attr_int("hi", 0));
  return map_float(c, infer, [=](float x) {
    if (std::isnan(x)) return 0.0F;
    return (std::clamp(std::nearbyint(x / scale), lo, hi) + 0.0F) * scale;
  });
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::native::op_FakeQuantize

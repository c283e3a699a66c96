// SPDX-License-Identifier: Apache-2.0
#include "quant/weight_ranges.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "quant/channels.h"
#include "quant/scheme.h"

namespace octet {

namespace {

/// Blocks that are observed together: histograms of all of a large weight would take gigabytes.
constexpr int64_t kBlocksTogether = 256;

/// Squares of what a range clips count so many times: clipping always makes a number smaller, and
/// the largest weights are those that outputs depend on. What AIMET's `tf_enhanced` weighs them by.
constexpr double kClipped = 3;
constexpr float kNearHalf = 0.499F; ///< a step that is rounded makes less of a half

/// Sums of squared errors of numbers in channels, each with a step of its own.
std::vector<double> squared_errors(const Tensor& weight,
                                   std::span<const float> numbers,
                                   std::optional<int64_t> axis,
                                   const Scheme& scheme,
                                   std::span<const Range> ranges) {
  const Layout at = layout_of(weight, axis);
  const Codes all = codes(scheme);
  const std::vector<QuantParameters> parameters = parameters_for(scheme, ranges);
  std::vector<double> out(ranges.size());
  for (int64_t o = 0; o < at.outer; ++o)
    for (int64_t c = 0; c < at.channels; ++c) {
      const QuantParameters& p = parameters[static_cast<size_t>(c)];
      const auto lowest = static_cast<float>(all.lowest - p.zero_point),
                 highest = static_cast<float>(all.highest - p.zero_point);
      double& sum = out[static_cast<size_t>(c)];
      for (const float x : numbers.subspan(static_cast<size_t>((o * at.channels + c) * at.inner),
                                           static_cast<size_t>(at.inner))) {
        const float exact = x / p.scale;
        const float code = std::clamp(std::nearbyint(exact), lowest, highest);
        const double d = static_cast<double>(x) - static_cast<double>(code) * p.scale;
        const bool clipped = exact > highest + kNearHalf || exact < lowest - kNearHalf;
        sum += d * d * (clipped ? kClipped : 1);
      }
    }
  return out;
}

constexpr double kHalf = 0.5;

/// Whether so many numbers with one range can be expected to come nearer by half a step less: their
/// errors are step^2 / 12 in the mean, that of the extreme becomes step^2 / 4. In fewer it would be
/// the luck of their rounding.
bool gains(const Scheme& scheme, double numbers) {
  const double highest = reach(scheme).highest;
  const double smaller = std::pow(highest / (highest + kHalf), 2);
  const double others = numbers - 1;
  return smaller * (others / 12 + kClipped / 4) < others / 12;
}

/// Where its extreme is half a step beyond the last code.
Range half_a_step_less(const Scheme& scheme, const Range& range) {
  const Codes ends = reach(scheme);
  return {range.lo * (ends.lowest / (ends.lowest - kHalf)),
          range.hi * (ends.highest / (ends.highest + kHalf))};
}

/// Of numbers in channels, or in one.
Result<std::vector<Range>> channel_ranges(const Tensor& weight,
                                          std::optional<int64_t> axis,
                                          const Scheme& scheme,
                                          const Calibrator& calibrator) {
  Observer observer = OCTET_TRY(Observer::create(calibrator, scheme, axis));
  OCTET_TRY(observer.observe(weight));
  std::vector<Range> out = OCTET_TRY(observer.ranges());
  const double numbers = static_cast<double>(weight.count()) / static_cast<double>(out.size());
  if (!std::holds_alternative<MinMax>(calibrator) || !uses_lowest_code(scheme) ||
      !scheme.symmetric || scheme.scale != DType::kFloat32 || !gains(scheme, numbers))
    return out;
  const Floats floats = OCTET_TRY(Floats::of(weight));
  std::vector<Range> less;
  less.reserve(out.size());
  for (const Range& range : out)
    less.push_back(half_a_step_less(scheme, range));
  const auto before = squared_errors(weight, floats.get(), axis, scheme, out),
             after = squared_errors(weight, floats.get(), axis, scheme, less);
  for (size_t c = 0; c < out.size(); ++c)
    if (after[c] < before[c]) out[c] = less[c];
  return out;
}

} // namespace

Result<std::vector<Range>>
weight_ranges(const Tensor& weight, const TensorPlan& plan, const Calibrator& calibrator) {
  if (plan.block == 0) return channel_ranges(weight, plan.axis, plan.scheme, calibrator);
  const Floats floats = OCTET_TRY(Floats::of(weight));
  const std::span<const float> w = floats.get();
  const auto infinities = std::count_if(w.begin(), w.end(), [](float x) { return std::isinf(x); });
  if (infinities > 0) return error("it holds {} infinities", infinities);
  const Layout at = layout_of(weight, plan.axis);
  std::vector<Range> out;
  std::vector<float> values;
  for (int64_t o = 0; o < at.outer; ++o)
    for (int64_t begin = 0; begin < at.channels; begin += plan.block)
      for (int64_t first = 0; first < at.inner; first += kBlocksTogether) {
        const int64_t count = std::min(kBlocksTogether, at.inner - first);
        const int64_t size = std::min(plan.block, at.channels - begin);
        values.clear();
        for (int64_t i = first; i < first + count; ++i)
          for (int64_t k = begin; k < begin + size; ++k)
            values.push_back(w[static_cast<size_t>((o * at.channels + k) * at.inner + i)]);
        const auto blocks = Tensor::of<float>({count, size}, std::span<const float>(values));
        const std::vector<Range> ranges =
            OCTET_TRY(channel_ranges(blocks, 0, plan.scheme, calibrator));
        out.insert(out.end(), ranges.begin(), ranges.end());
      }
  return out;
}

} // namespace octet

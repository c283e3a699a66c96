// SPDX-License-Identifier: Apache-2.0
#include "quant/block_ranges.h"

#include <algorithm>

#include "core/format.h"
#include "quant/channels.h"

namespace octet {

namespace {

/// Blocks that are observed together: histograms of all of a large weight would take gigabytes.
constexpr int64_t kBlocksTogether = 256;

} // namespace

Result<std::vector<Range>>
block_ranges(const Tensor& weight, const TensorPlan& plan, const Calibrator& calibrator) {
  const Floats floats = OCTET_TRY(Floats::of(weight));
  const std::span<const float> w = floats.get();
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
        Observer observer = OCTET_TRY(Observer::create(calibrator, plan.scheme, 0));
        OCTET_TRY(
            observer.observe(Tensor::of<float>({count, size}, std::span<const float>(values))));
        if (observer.infinities() > 0)
          return error("it holds {} infinities", observer.infinities());
        const std::vector<Range> ranges = OCTET_TRY(observer.ranges());
        out.insert(out.end(), ranges.begin(), ranges.end());
      }
  return out;
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// NvInfer.h, IParametricReLULayer: the slopes are broadcast to the input, never the input to them.
#include "core/format.h"
#include "targets/tensorrt/rules.h"

namespace octet::tensorrt {

namespace {

void find_prelu_slope(const CheckContext& context, const Node& node, Found& found) {
  if (!node.is("PRelu")) return;
  const TypeInfo& x = context.graph.value(node.input(0)).type;
  const TypeInfo& slope = context.graph.value(node.input(1)).type;
  if (!x.has_rank() || !slope.has_rank()) return;
  bool larger = slope.rank() > x.rank();
  for (int64_t i = 1; !larger && i <= slope.rank(); ++i) {
    const auto mine = (*slope.shape)[static_cast<size_t>(slope.rank() - i)].maybe_value();
    const auto its = (*x.shape)[static_cast<size_t>(x.rank() - i)].maybe_value();
    larger = mine && its && *mine != 1 && *its == 1;
  }
  if (larger)
    found.add(node,
              fmt::format("slope {} is larger than x {}, and TensorRT broadcasts the slope alone",
                          slope.text(), x.text()),
              "Expand x first");
}

} // namespace

constexpr TargetRule kPreluSlope = {.id = "prelu-slope", .clause = "1.4", .find = find_prelu_slope};

} // namespace octet::tensorrt

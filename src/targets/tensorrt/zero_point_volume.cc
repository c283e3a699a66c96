// SPDX-License-Identifier: Apache-2.0
#include "core/format.h"
#include "targets/tensorrt/rules.h"

namespace octet::tensorrt {

namespace {

void find_zero_point_volume(const CheckContext& context, const Node& node, Found& found) {
  const qdq::Written written = qdq::written(context.graph, node);
  if (written.scales == nullptr || written.zeros == nullptr ||
      written.scales->count() == written.zeros->count())
    return;
  found.add(node,
            fmt::format("\"The scale and zero point must have the same volume. Size of zero "
                        "point = {}, size of the scale = {}.\"",
                        written.zeros->count(), written.scales->count()),
            "give both the same shape");
}

} // namespace

constexpr TargetRule kZeroPointVolume = {.id = "zero-point-volume",
                                         .clause = "1.1 row 13",
                                         .find = find_zero_point_volume,
                                         .mends = {Mend::kMatchZeroPoint}};

} // namespace octet::tensorrt

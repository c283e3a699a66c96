// SPDX-License-Identifier: Apache-2.0
#include "core/format.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/rules.h"

namespace octet::onnxruntime {

namespace {

void find_zero_point_volume(const CheckContext& context, const Node& node, Found& found) {
  const qdq::Written said = qdq::written(context.graph, node);
  if (!said.zero.valid()) return;
  const auto scales = static_count(context.graph, said.scale);
  const auto zeros = static_count(context.graph, said.zero);
  if (!scales || !zeros || scales == zeros) return;
  found.add(node,
            fmt::format("{} zero points for {} scales: at run time \"{}\"", *zeros, *scales,
                        *scales == 1
                            ? "x_zero_point must be null or a scalar or 1D tensor or size 1."
                            : "For per axis quantization, x_zero_point must be null or 1D tensor "
                              "with size [...]"),
            "give it as many zero points as scales: octet repair does where they are equal");
}

} // namespace

constexpr TargetRule kZeroPointVolume = {.id = "zero-point-volume",
                                         .clause = "8",
                                         .find = find_zero_point_volume,
                                         .mends = {Mend::kMatchZeroPoint}};

} // namespace octet::onnxruntime

// SPDX-License-Identifier: Apache-2.0
#include "core/format.h"
#include "graph/label.h"
#include "targets/onnxruntime/prepared.h"
#include "targets/onnxruntime/rules.h"

namespace octet::onnxruntime {

namespace {

void find_merged_pad(const CheckContext& context, const Node& node, Found& found) {
  const auto merged = onnxruntime_merged_pad(context.graph, context.uses, node);
  if (!merged) return;
  const std::string misread = onnxruntime_misread_pad(context.graph, context.target, node, *merged);
  if (misread.empty()) return;
  found.add(node,
            fmt::format("ONNX Runtime makes {} part of it and {}",
                        label(context.graph, *merged->pad), misread),
            "keep the two apart by a Max of one input: octet repair does");
}

} // namespace

constexpr TargetRule kMergedPad = {.id = "merged-pad",
                                   .clause = "8",
                                   .provider = Provider::kCpu,
                                   .measured = 120,
                                   .find = find_merged_pad,
                                   .mends = {Mend::kHideCodes}};

} // namespace octet::onnxruntime

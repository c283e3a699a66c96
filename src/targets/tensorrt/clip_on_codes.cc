// SPDX-License-Identifier: Apache-2.0
#include "targets/tensorrt/rules.h"

namespace octet::tensorrt {

namespace {

void find_clip_on_codes(const CheckContext& context, const Node& node, Found& found) {
  if (!node.is("Clip") || !is_byte(context.graph.value(node.input(0)).type.type)) return;
  const auto computed = [&](size_t input) {
    return node.input(input).valid() && context.graph.constant(node.input(input)) == nullptr;
  };
  std::string message = "Clip on int8 parses as Clip(0, 0): every value becomes 0";
  if (computed(1) || computed(2))
    message = context.at_least(1000)
                  ? "\"This version of TensorRT only supports floating-point, INT32, or INT64 "
                    "inputs for Clip! The current input type is INT8.\""
                  : "\"This version of TensorRT only supports FLOAT or INT32 inputs for Clip!\"";
  found.add(node, std::move(message), "at 8 bits remove it; below 8 bits clip in float before Q");
}

} // namespace

constexpr TargetRule kClipOnCodes = {.id = "clip-on-codes",
                                     .clause = "1.3, 7",
                                     .find = find_clip_on_codes,
                                     .mends = {Mend::kClipCodes, Mend::kFoldCodes}};

} // namespace octet::tensorrt

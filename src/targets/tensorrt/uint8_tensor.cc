// SPDX-License-Identifier: Apache-2.0
#include "targets/tensorrt/rules.h"

namespace octet::tensorrt {

namespace {

void find_uint8_tensor(const CheckContext& context, const Node& node, Found& found) {
  if (is_qdq(node)) return;
  for (const ValueId id : node.outputs)
    if (id.valid() && context.graph.value(id).type.type == DType::kUint8)
      found.add(node, "\"TensorRT does not support UINT8 types for intermediate tensors!\"",
                "use int8 codes");
}

} // namespace

constexpr TargetRule kUint8Tensor = {.id = "uint8-tensor",
                                     .clause = "1.3, 7",
                                     .versions = {.since = 806},
                                     .find = find_uint8_tensor,
                                     .mends = {Mend::kDropCast, Mend::kMoveCodes}};

} // namespace octet::tensorrt

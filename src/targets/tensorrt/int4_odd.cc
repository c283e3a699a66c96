// SPDX-License-Identifier: Apache-2.0
#include "targets/tensorrt/rules.h"

namespace octet::tensorrt {

namespace {

void find_int4_odd(const CheckContext& context, const Node& node, Found& found) {
  if (qdq::written(context.graph, node).codes_type != DType::kInt4) return;
  const TypeInfo& x = context.graph.value(node.input(0)).type;
  if (!x.has_rank()) return;
  int64_t volume = 1, last = 0;
  for (const Dim& d : *x.shape) {
    const auto dim = d.maybe_value();
    if (!dim) return;
    volume *= *dim;
    last = *dim;
  }
  if (context.at_least(1010) ? volume % 2 == 0 : last % 2 == 0) return;
  found.add(node,
            context.at_least(1010)
                ? "\"4-bit quantization requies an even number of elements.\""
                : "\"Quantization to INT4 is not supported for tensors with an odd last "
                  "dimension.\"",
            "pad the axis, or use int8");
}

} // namespace

constexpr TargetRule kInt4Odd = {.id = "int4-odd",
                                 .clause = "1.1 row 20",
                                 .find = find_int4_odd,
                                 .mends = {Mend::kSymmetricWeight}};

} // namespace octet::tensorrt

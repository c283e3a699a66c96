// SPDX-License-Identifier: Apache-2.0
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/rules.h"

namespace octet::onnxruntime {

namespace {

void find_integer_zero_point(const CheckContext& context, const Node& node, Found& found) {
  if (!onnxruntime_wide_zero_point(context.graph, node)) return;
  found.add(node,
            node.is("ConvInteger")
                ? "at run time \"Non per-tensor quantization is not supported now.\""
                : "at run time \"MatmulInteger : input1 zero point must be a scalar or 1D tensor "
                  "of size 1\"",
            "give it one zero point: octet repair does where they are equal, or come off stored "
            "codes within int8");
}

} // namespace

constexpr TargetRule kIntegerZeroPoint = {.id = "integer-zero-point",
                                          .clause = "8",
                                          .provider = Provider::kCpu,
                                          .find = find_integer_zero_point,
                                          .mends = {Mend::kSingleZeroPoint}};

} // namespace octet::onnxruntime

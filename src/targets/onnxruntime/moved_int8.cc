// SPDX-License-Identifier: Apache-2.0
// It puts a Q of its own behind what DQ moves past, says INT8 in output_dtype, and then turns the
// codes into UINT8.
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/rules.h"

namespace octet::onnxruntime {

namespace {

void find_moved_int8(const CheckContext& context, const Node& node, Found& found) {
  if (onnxruntime_moved_int8(context.graph, context.uses, node))
    found.add(
        node,
        "\"output_dtype INT8 does not match y_zero_point type UINT8\": from operator set 21 on "
        "ONNX Runtime 1.31 fails to load int8 codes that go through it without a Q behind it",
        "use uint8, or put Q/DQ behind it: octet repair does; or write it for operator set 20");
}

} // namespace

constexpr TargetRule kMovedInt8 = {.id = "moved-int8",
                                   .clause = "8",
                                   .provider = Provider::kCpu,
                                   .measured = 131,
                                   .find = find_moved_int8,
                                   .mends = {Mend::kUnsignMoved}};

} // namespace octet::onnxruntime

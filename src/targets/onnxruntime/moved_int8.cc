// SPDX-License-Identifier: Apache-2.0
// It puts a Q of its own behind what DQ moves past, says INT8 in output_dtype, and then turns the
// codes into UINT8. A MatMul with a bias behind it becomes a Gemm with such a place before it.
#include "core/format.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/rules.h"

namespace octet::onnxruntime {

namespace {

void find_moved_int8(const CheckContext& context, const Node& node, Found& found) {
  const auto moved = onnxruntime_moved_int8(context.graph, context.uses, node);
  if (!moved) return;
  const bool gemm = moved->last == nullptr;
  found.add(
      node,
      fmt::format("\"output_dtype INT8 does not match y_zero_point type UINT8\": from operator "
                  "set 21 on ONNX Runtime 1.31 fails to load int8 codes {}",
                  gemm ? "before a MatMul with a bias behind it, of which it makes Reshape and "
                         "Gemm"
                       : "that go through it without a Q behind it"),
      fmt::format("use uint8{}: octet repair does; or write it for operator set 20",
                  gemm ? "" : ", or put Q/DQ behind it"));
}

} // namespace

constexpr TargetRule kMovedInt8 = {.id = "moved-int8",
                                   .clause = "8",
                                   .provider = Provider::kCpu,
                                   .measured = 131,
                                   .find = find_moved_int8,
                                   .mends = {Mend::kUnsignMoved, Mend::kHideCodes}};

} // namespace octet::onnxruntime

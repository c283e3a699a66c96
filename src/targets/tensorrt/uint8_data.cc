// SPDX-License-Identifier: Apache-2.0
// DQ of uint8 codes that no node makes: stored ones, or an input of the file.
#include "targets/tensorrt/rules.h"

namespace octet::tensorrt {

namespace {

void find_uint8_data(const CheckContext& context, const Node& node, Found& found) {
  if (!is_dequantize(node) || qdq::written(context.graph, node).codes_type != DType::kUint8 ||
      context.graph.producer(node.input(0)) != nullptr)
    return;
  found.add(node,
            context.at_least(1000) && !context.at_least(1010)
                ? "TensorRT takes UINT8 data without a word and reads it as INT8"
                : "\"Found unsupported input type of UINT8\"",
            "store int8: subtract 128");
}

} // namespace

constexpr TargetRule kUint8Data = {
    .id = "uint8-data",
    .clause = "1.1 row 1, 7",
    .find = find_uint8_data,
    .mends = {Mend::kSymmetricWeight, Mend::kFoldRow, Mend::kShiftTable, Mend::kDecomposeInput}};

} // namespace octet::tensorrt

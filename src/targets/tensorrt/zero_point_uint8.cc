// SPDX-License-Identifier: Apache-2.0
#include "targets/tensorrt/rules.h"

namespace octet::tensorrt {

namespace {

void find_zero_point_uint8(const CheckContext& context, const Node& node, Found& found) {
  const Tensor* zero = qdq::written(context.graph, node).zeros;
  if (zero == nullptr || zero->type() != DType::kUint8) return;
  std::string message =
      "TensorRT 8 takes UINT8 codes without a word and reads them as INT8: the upper half is lost";
  if (context.at_least(1010))
    message = "\"For zero_point with type uint8 TensorRT will use INT8 instead.\"";
  else if (context.at_least(1000))
    message = "\"TensorRT doesn't support QuantizeLinear/DequantizeLinear with UINT8 zero_point. "
              "TensorRT will use INT8 instead.\"";
  found.add(node, std::move(message), "write int8 codes: subtract 128 from codes and zero point");
}

} // namespace

constexpr TargetRule kZeroPointUint8 = {
    .id = "zero-point-uint8",
    .clause = "1.1 row 10, 7",
    .find = find_zero_point_uint8,
    .mends = {Mend::kShiftActivation, Mend::kSymmetricActivation, Mend::kSymmetricWeight,
              Mend::kShiftTable, Mend::kFoldRow}};

} // namespace octet::tensorrt

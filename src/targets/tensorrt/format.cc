// SPDX-License-Identifier: Apache-2.0
// Codes of types that no version of TensorRT quantizes to.
#include "core/format.h"

#include "targets/tensorrt/rules.h"

namespace octet::tensorrt {

namespace {

void find_int32_dequantize(const CheckContext& context, const Node& node, Found& found) {
  if (qdq::written(context.graph, node).codes_type == DType::kInt32)
    found.add(
        node,
        "TensorRT refuses a DequantizeLinear of int32 codes: \"only activation types allowed as "
        "input to this layer.\"",
        "fold the bias to a float initializer: codes * scale");
}

void find_format(const CheckContext& context, const Node& node, Found& found) {
  const DType codes = qdq::written(context.graph, node).codes_type;
  switch (codes) {
  case DType::kUndefined:
  case DType::kInt8:
  case DType::kUint8: // said by its zero point
  case DType::kFloat8E4M3FN:
  case DType::kInt4:
  case DType::kFloat4E2M1:
  case DType::kInt32:
    return;
  default:
    found.add(node,
              fmt::format("\"Failed to import {}\" for {}",
                          context.at_least(1010) ? "initialzer" : "initializer.",
                          octet::name(codes)),
              "use int8, or FP8 E4M3FN from TensorRT 9 on");
  }
}

} // namespace

constexpr TargetRule kInt32Dequantize = {.id = "int32-dequantize",
                                         .clause = "1.3, 7",
                                         .find = find_int32_dequantize,
                                         .mends = {Mend::kFoldBias, Mend::kDropCast}};
constexpr TargetRule kFormat = {.id = "format",
                                .clause = "7",
                                .find = find_format,
                                .mends = {Mend::kSymmetricActivation, Mend::kSymmetricWeight}};

} // namespace octet::tensorrt

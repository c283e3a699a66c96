// SPDX-License-Identifier: Apache-2.0
// Without a zero point Q makes UINT8 (or output_dtype) and DQ takes the type of its codes; the
// parser takes INT8 in both.
#include "core/format.h"
#include "targets/tensorrt/rules.h"

namespace octet::tensorrt {

namespace {

void find_zero_point_missing(const CheckContext& context, const Node& node, Found& found) {
  const qdq::Written said = qdq::written(context.graph, node);
  if (!is_qdq(node) || said.zero.valid()) return;
  const DType codes = said.codes_type;
  const std::string type(codes == DType::kUndefined ? "UINT8" : octet::name(codes));
  std::string message =
      is_quantize(node)
          ? "without a zero point TensorRT quantizes to INT8, ONNX and everyone else to " + type
          : "without a zero point TensorRT reads INT8 codes, and these are " + type;
  if (!context.at_least(806)) // it says DequantizeLinear of QuantizeLinear too
    message = "\"This version of TensorRT requires 3 inputs for the DequantizeLinear operator.\"";
  else if (!context.at_least(900))
    message = fmt::format("\"Invalid Node - {}\", \"vector::_M_range_check: __n (which is 2) >= "
                          "this->size() (which is 2)\"",
                          node.name);
  else if (codes == DType::kInt8)
    return; // what it takes is what is there
  const bool stored = is_dequantize(node) && codes != DType::kUndefined && codes != DType::kUint8;
  found.add(
      node, std::move(message),
      stored ? fmt::format("add a zero-point initializer of zeros of type {}", octet::name(codes))
             : "add an INT8 zero-point initializer of zeros");
}

} // namespace

constexpr TargetRule kZeroPointMissing = {.id = "zero-point-missing",
                                          .clause = "1.1, 7",
                                          .find = find_zero_point_missing,
                                          .mends = {Mend::kAddZeroPoint}};

} // namespace octet::tensorrt

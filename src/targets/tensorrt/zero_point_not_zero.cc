// SPDX-License-Identifier: Apache-2.0
// Zero points other than 0: in an initializer, behind Identity and Cast, which TensorRT looks
// through from version 10 on, and computed ones, which it takes unchecked.
#include "targets/tensorrt/rules.h"

namespace octet::tensorrt {

namespace {

constexpr const char* kSymmetric = "quantize symmetrically (symmetric = true)";

std::string not_symmetric(const CheckContext& context) {
  if (context.at_least(1011))
    return "\"Non-zero zero point is not supported. Please set "
           "kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLAto enable asymmetric quantization if it "
           "is "
           "on DLA.\"";
  if (context.at_least(806))
    return "\"TensorRT only supports symmetric quantization. The zero point for the "
           "QuantizeLinear/DequantizeLinear operator must be all zeros.\"";
  return "\"TRT only supports symmetric quantization - zeroPt must be all zeros\"";
}

bool all_zero(const Tensor& tensor) {
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (tensor.at(i) != 0) return false;
  return true;
}

bool is_computed(const CheckContext& context, const Node& node) {
  const qdq::Written said = qdq::written(context.graph, node);
  return said.zero.valid() && said.zeros == nullptr;
}

/// Of a computed zero point: where TensorRT sees one that is not all zeros.
bool is_traced_and_not_zero(const CheckContext& context, const Node& node) {
  if (!context.at_least(1000)) return false;
  ValueId value = qdq::written(context.graph, node).zero;
  for (int hops = 0; hops < 16; ++hops) {
    if (const Tensor* zero = context.graph.constant(value)) return !all_zero(*zero);
    const Node* before = context.graph.producer(value);
    if (before == nullptr || !(before->is("Identity") || before->is("Cast"))) return false;
    value = before->input(0);
  }
  return false;
}

void find_zero_point_traced(const CheckContext& context, const Node& node, Found& found) {
  if (is_computed(context, node) && is_traced_and_not_zero(context, node))
    found.add(node, not_symmetric(context), kSymmetric);
}

void find_zero_point_hidden(const CheckContext& context, const Node& node, Found& found) {
  if (is_computed(context, node) && !is_traced_and_not_zero(context, node))
    found.add(node,
              "the zero point is computed, and the parser takes it unchecked where it cannot "
              "trace it (TensorRT 8: always)",
              "make it an initializer of zeros");
}

void find_zero_point_not_zero(const CheckContext& context, const Node& node, Found& found) {
  const Tensor* zero = is_qdq(node) ? qdq::written(context.graph, node).zeros : nullptr;
  if (zero != nullptr && is_integer(zero->type()) && !all_zero(*zero))
    found.add(node, not_symmetric(context), kSymmetric);
}

} // namespace

constexpr TargetRule kZeroPointTraced = {.id = "zero-point-not-zero",
                                         .clause = "1.1 row 12, 7",
                                         .versions = {.since = 1000},
                                         .find = find_zero_point_traced,
                                         .mends = {Mend::kFoldParameter}};
constexpr TargetRule kZeroPointHidden = {.id = "zero-point-hidden",
                                         .clause = "1.1 row 12, 7",
                                         .find = find_zero_point_hidden,
                                         .mends = {Mend::kFoldParameter}};
constexpr TargetRule kZeroPointNotZero = {
    .id = "zero-point-not-zero",
    .clause = "1.1 row 12",
    .find = find_zero_point_not_zero,
    .mends = {Mend::kShiftActivation, Mend::kSymmetricActivation, Mend::kSymmetricWeight,
              Mend::kShiftTable, Mend::kFoldRow}};

} // namespace octet::tensorrt

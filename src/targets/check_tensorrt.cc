// SPDX-License-Identifier: Apache-2.0
// What TensorRT's parser refuses, and what it takes but reads as something else: there the check is
// stricter than the parser. Messages quote the parser. Source: docs/targets.md 1.1 (rows), 1.2 to
// 1.4, and 7 (measured), which wins where they differ.
#include <algorithm>
#include <array>
#include <cmath>

#include "core/format.h"
#include "targets/checks.h"

namespace octet {

namespace {

bool at_least(const CheckContext& context, int version) {
  return context.target.version >= version;
}

const Tensor* zero_point(const CheckContext& context, const Node& node) {
  return context.graph.constant(node.input(2));
}

void scale_rules(const CheckContext& context, const Node& node) {
  if (!is_qdq(node)) return;
  const std::string name = label(context.graph, node);
  const Tensor* scale = context.graph.constant(node.input(1));
  if (scale == nullptr) {
    context.add("scale-not-constant", Severity::kWarning, name,
                "the scale is computed: the parser takes it unchecked", "make it an initializer",
                "7");
    return;
  }
  if (scale->type() == DType::kFloat16 && !at_least(context, 1000)) {
    context.add("scale-f16", Severity::kError, name,
                "TensorRT 8 reads the scale's bytes as float32 whatever their type",
                "store the scale as f32", "1.2");
    return;
  }
  if (!is_float(scale->type())) {
    context.add("scale-type", Severity::kError, name, "\"Scale coefficients must all be positive\"",
                fmt::format("the scale is {}; store it as f32", octet::name(scale->type())),
                "1.1 row 4");
    return;
  }
  if (scale->count() == 0) {
    context.add("scale-empty", Severity::kError, name,
                "\"Cannot have scale with no coefficients.\"", "store at least one scale",
                "1.1 row 3");
    return;
  }
  for (int64_t i = 0; i < scale->count(); ++i) {
    const double s = scale->at(i);
    if (!(s > 0)) {
      context.add(
          "scale-not-positive", Severity::kError, name,
          "\"Scale coefficients must all be positive\"",
          fmt::format("scale {} is {}: give an all-zero channel the smallest other scale", i, s),
          "1.1 row 4");
      return;
    }
    if (std::isinf(s) || !std::isnormal(static_cast<float>(s))) {
      context.add(
          "scale-not-normal", Severity::kError, name,
          fmt::format("scale {} is {}; the parser takes it unchecked and divides by it", i, s),
          "use a finite scale that is not subnormal", "7");
      return;
    }
  }
}

void zero_point_rules(const CheckContext& context, const Node& node) {
  if (!is_qdq(node)) return;
  const std::string name = label(context.graph, node);
  if (!node.input(2).valid()) {
    context.add("zero-point-missing", Severity::kError, name,
                at_least(context, 1000)
                    ? "without a zero point TensorRT quantizes to INT8, ONNX and everyone else to "
                      "UINT8"
                    : fmt::format("\"This version of TensorRT requires 3 inputs for the {} "
                                  "operator.\"",
                                  node.op_type),
                "add an INT8 zero-point initializer of zeros", "1.1, 7");
    return;
  }
  const Tensor* zero = zero_point(context, node);
  if (zero == nullptr) {
    context.add("zero-point-hidden", Severity::kError, name,
                "the zero point is computed, and TensorRT 8 takes it unchecked",
                "make it an initializer of zeros", "7");
    return;
  }
  const Tensor* scale = context.graph.constant(node.input(1));
  if (scale != nullptr && scale->count() != zero->count())
    context.add("zero-point-volume", Severity::kError, name,
                fmt::format("\"The scale and zero point must have the same volume. Size of zero "
                            "point = {}, size of the scale = {}.\"",
                            zero->count(), scale->count()),
                "give both the same shape", "1.1 row 13");
  if (zero->type() == DType::kUint8)
    context.add("zero-point-uint8", Severity::kError, name,
                at_least(context, 1010)
                    ? "\"For zero_point with type uint8 TensorRT will use INT8 instead.\""
                    : "\"TensorRT doesn't support QuantizeLinear/DequantizeLinear with UINT8 "
                      "zero_point. TensorRT will use INT8 instead.\"",
                "write int8 codes: subtract 128 from codes and zero point", "1.1 row 10");
  if (is_integer(zero->type()))
    for (int64_t i = 0; i < zero->count(); ++i) {
      if (zero->at(i) == 0) continue;
      context.add("zero-point-not-zero", Severity::kError, name,
                  "\"TensorRT only supports symmetric quantization. The zero point for the "
                  "QuantizeLinear/DequantizeLinear operator must be all zeros.\"",
                  "quantize symmetrically (symmetric = true)", "1.1 row 12");
      break;
    }
}

void axis_rules(const CheckContext& context, const Node& node) {
  if (!is_qdq(node)) return;
  const Tensor* scale = context.graph.constant(node.input(1));
  const TypeInfo& x = context.graph.value(node.input(0)).type;
  if (scale == nullptr || scale->count() <= 1 || scale->rank() != 1 || !x.has_rank()) return;
  const std::string name = label(context.graph, node);
  if (!node.has_attr("axis")) {
    context.add("axis-missing", Severity::kError, name,
                "several scales without axis: TensorRT takes axis 0, ONNX means axis 1",
                "write the axis", "1.1, 7");
    return;
  }
  const int64_t given = node.attr_int("axis", 1);
  const int64_t axis = given < 0 ? given + x.rank() : given;
  if (axis < 0 || axis >= x.rank()) {
    context.add("axis-range", Severity::kError, name,
                fmt::format("\"Axis must be in the range [0, nbDims ({})]. Provided axis is: {}\"",
                            x.rank(), given),
                "use an axis of the tensor", "1.1 row 15");
    return;
  }
  const auto dim = (*x.shape)[static_cast<size_t>(axis)].maybe_value();
  if (dim && *dim != scale->count())
    context.add("axis-channels", Severity::kError, name,
                fmt::format("\"The number of scales is not equal to the number of output channels. "
                            "Number of output channels = {}, number of scales = {}.\"",
                            *dim, scale->count()),
                "give one scale for each channel of the axis", "1.1 row 16");
  const ValueId in = node.input(0);
  const Node* before = context.graph.producer(in);
  const bool rooted = context.graph.constant(in) != nullptr ||
                      (before != nullptr && is_quantize(*before) &&
                       context.graph.constant(before->input(0)) != nullptr);
  if (!rooted)
    context.add("activation-per-channel", Severity::kError, name,
                "per-channel scales are only taken for inputs that come from a constant",
                "use one scale for the activation, the largest", "1.4");
}

void type_rules(const CheckContext& context, const Node& node) {
  if (!is_qdq(node)) return;
  const std::string name = label(context.graph, node);
  if (node.has_attr("output_dtype"))
    context.add("output-dtype", Severity::kError, name,
                "\"Mismatch between attribute output_dtype ... and zero-point data type ...\" for "
                "some versions, ignored by others",
                "remove output_dtype: the zero point says the type", "1.1 row 9, 7");
  const DType codes = is_quantize(node) ? context.graph.value(node.output(0)).type.type
                                        : context.graph.value(node.input(0)).type.type;
  switch (codes) {
  case DType::kInt8:
  case DType::kUint8: // said by its zero point
  case DType::kUndefined:
    break;
  case DType::kFloat8E4M3FN:
  case DType::kInt4:
    if (!at_least(context, 1000))
      context.add("format-too-new", Severity::kError, name,
                  fmt::format("{} needs TensorRT 10", octet::name(codes)), "use int8", "7");
    break;
  case DType::kInt32:
    context.add("int32-dequantize", Severity::kError, name,
                "\"only activation types allowed as input to this layer.\" (said by the core)",
                "fold the bias to a float initializer: codes * scale", "1.3, 7");
    break;
  default:
    context.add("format", Severity::kError, name,
                "\"Failed to import initializer.\" for " + std::string(octet::name(codes)),
                "use int8, or FP8 E4M3FN from TensorRT 10 on", "7");
  }
  const Node* before = context.graph.producer(node.input(0));
  if (is_dequantize(node) && codes == DType::kUint8 && before == nullptr)
    context.add("uint8-data", Severity::kError, name,
                "\"Found unsupported input type of UINT8\", or silently INT8 in 10.1",
                "store int8: subtract 128", "1.1 row 1, 7");
  if (is_dequantize(node) && codes == DType::kInt8 && !at_least(context, 1000) &&
      context.graph.constant(node.input(0)) != nullptr)
    context.add("stored-int8-weight", Severity::kWarning, name,
                "TensorRT 8's guide wants weights in float behind Q and DQ",
                "write the file for tensorrt-8.6", "1.3, 6 E5");
}

void clip_rules(const CheckContext& context, const Node& node) {
  if (!node.is("Clip")) return;
  const DType type = context.graph.value(node.input(0)).type.type;
  if (type != DType::kInt8 && type != DType::kUint8) return;
  const bool constant = context.graph.constant(node.input(1)) != nullptr ||
                        context.graph.constant(node.input(2)) != nullptr;
  context.add("clip-on-codes", Severity::kError, label(context.graph, node),
              constant ? "Clip on int8 parses as Clip(0, 0): every value becomes 0"
                       : "\"This version of TensorRT only supports floating-point, INT32, or INT64 "
                         "inputs for Clip! The current input type is INT8.\"",
              "at 8 bits remove it; below 8 bits clip in float before Q", "1.3, 7");
}

void operator_rules(const CheckContext& context, const Node& node) {
  constexpr std::array<std::string_view, 5> kInteger = {
      "QLinearConv", "QLinearMatMul", "MatMulInteger", "ConvInteger", "DynamicQuantizeLinear"};
  const std::string name = label(context.graph, node);
  if (node.domain.empty()) {
    if (std::find(kInteger.begin(), kInteger.end(), node.op_type) != kInteger.end())
      context.add(
          "integer-operator", Severity::kError, name,
          at_least(context, 1000)
              ? fmt::format("\"Assertion failed: false\" from check{}", node.op_type)
              : "\"Plugin not found, are the plugin name, version, and namespace correct?\"",
          "write it as Q/DQ around the float operator", "1.3, 7");
    if (node.op_type == "Gelu" && !at_least(context, 1000))
      context.add("operator-too-new", Severity::kError, name, "Gelu needs TensorRT 10",
                  "write it with Erf", "7");
    if ((node.op_type == "RMSNormalization" || node.op_type == "Attention") &&
        !at_least(context, 1100))
      context.add("operator-too-new", Severity::kError, name,
                  node.op_type + " is not taken by the parsers that were tried (to 10.10)",
                  "write it with elementary operators", "7");
    return;
  }
  if (is_qdq(node) ||
      (node.domain == "com.microsoft" && node.op_type == "Gelu" && at_least(context, 1000)))
    return;
  context.add("unknown-domain", Severity::kError, name,
              fmt::format("\"No importer registered for op: {}. Attempting to import as plugin.\", "
                          "then \"Plugin not found, are the plugin name, version, and namespace "
                          "correct?\"",
                          node.op_type),
              fmt::format("the domain \"{}\" is not ONNX; use standard operators", node.domain),
              "1.3, 7");
}

void uint8_between_nodes(const CheckContext& context, const Node& node) {
  if (is_qdq(node)) return;
  for (const ValueId id : node.outputs)
    if (id.valid() && context.graph.value(id).type.type == DType::kUint8 && at_least(context, 806))
      context.add("uint8-tensor", Severity::kError, label(context.graph, node),
                  "\"TensorRT does not support UINT8 types for intermediate tensors!\"",
                  "use int8 codes", "1.3, 7");
}

void opset_rule(const CheckContext& context, const Node& node) {
  const std::vector<NodeId> nodes = context.graph.nodes();
  if (nodes.empty() || nodes.front() != node.id) return; // once
  const int64_t bound = context.target.placement->max_opset;
  if (context.graph.opset() > bound)
    context.add("opset", Severity::kWarning, context.graph.name,
                fmt::format("operator set {} is above the documented {}; the parser does not "
                            "enforce it",
                            context.graph.opset(), bound),
                fmt::format("convert the model to operator set {}", bound), "1.2, 7");
}

constexpr CheckFn* kChecks[] = {scale_rules, zero_point_rules, axis_rules,          type_rules,
                                clip_rules,  operator_rules,   uint8_between_nodes, opset_rule};

} // namespace

std::span<CheckFn* const> tensorrt_checks() {
  return kChecks;
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// What TensorRT's parser refuses of Q and DQ, and what it takes but reads as something else: there
// the check is stricter than the parser. Messages quote the parser. Source: docs/targets.md 1.1
// (rows), 1.2 to 1.4, and 7 (measured), which wins where they differ.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "targets/checks.h"

namespace octet {

namespace {

void scale_rules(const CheckContext& context, const Node& node) {
  if (!is_qdq(node)) return;
  const std::string name = label(context.graph, node);
  const Tensor* scale = qdq::written(context.graph, node).scales;
  if (scale == nullptr) {
    const TypeInfo& type = context.graph.value(node.input(1)).type;
    if (type.has_rank() && type.rank() == 1 && !type.shape->front().maybe_value())
      context.add("scale-shape", Severity::kError, name,
                  context.at_least(1010) ? "\"Invalid rank for the scale tensor. Rank = 1.\""
                                         : "\"Dynamic shape for scale tensor is not supported.\"",
                  "make it an initializer", "1.1 row 5, 7");
    context.add("scale-not-constant", Severity::kWarning, name,
                "the scale is computed: the parser takes it unchecked", "make it an initializer",
                "7");
    return;
  }
  if (scale->type() == DType::kFloat16 && !context.at_least(1000)) {
    context.add("scale-f16", Severity::kError, name,
                "TensorRT 8 reads the scale's bytes as float32 whatever their type",
                "store the scale as f32", "1.2");
    return;
  }
  if (!is_float(scale->type())) {
    context.add("scale-type", Severity::kError, name,
                context.at_least(1000)
                    ? "\"Scale coefficients must all be positive\""
                    : "TensorRT 8 reads the scale's bytes as float32 whatever their type",
                fmt::format("the scale is {}; store it as f32", octet::name(scale->type())),
                "1.1 row 4, 7");
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
      context.add("scale-not-positive", Severity::kError, name,
                  "\"Scale coefficients must all be positive\"", fix_of_scale(node, *scale, i),
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

/// The type of the codes: what Q makes and DQ takes.
DType code_type(const CheckContext& context, const Node& node) {
  return context.graph.value(codes_of_qdq(node)).type.type;
}

/// Without a zero point Q makes UINT8 (or output_dtype) and DQ takes the type of its codes; the
/// parser takes INT8 in both.
void missing_zero_point(const CheckContext& context, const Node& node) {
  const DType codes = code_type(context, node);
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
  context.add(
      "zero-point-missing", Severity::kError, label(context.graph, node), std::move(message),
      stored ? fmt::format("add a zero-point initializer of zeros of type {}", octet::name(codes))
             : "add an INT8 zero-point initializer of zeros",
      "1.1, 7");
}

std::string_view not_symmetric(const CheckContext& context) {
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

std::string_view reads_uint8_as_int8(const CheckContext& context) {
  if (context.at_least(1010))
    return "\"For zero_point with type uint8 TensorRT will use INT8 instead.\"";
  if (context.at_least(1000))
    return "\"TensorRT doesn't support QuantizeLinear/DequantizeLinear with UINT8 zero_point. "
           "TensorRT will use INT8 instead.\"";
  return "TensorRT 8 takes UINT8 codes without a word and reads them as INT8: the upper half is "
         "lost";
}

/// The zero point behind Identity and Cast, which TensorRT looks through from version 10 on.
const Tensor* traced(const Graph& graph, ValueId value) {
  for (int hops = 0; hops < 16; ++hops) {
    if (const Tensor* found = graph.constant(value)) return found;
    const Node* before = graph.producer(value);
    if (before == nullptr || !(before->is("Identity") || before->is("Cast"))) return nullptr;
    value = before->input(0);
  }
  return nullptr;
}

bool all_zero(const Tensor& tensor) {
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (tensor.at(i) != 0) return false;
  return true;
}

void hidden_zero_point(const CheckContext& context, const Node& node) {
  const Tensor* zero = traced(context.graph, qdq::written(context.graph, node).zero);
  const std::string name = label(context.graph, node);
  if (zero != nullptr && context.at_least(1000) && !all_zero(*zero))
    context.add("zero-point-not-zero", Severity::kError, name, std::string(not_symmetric(context)),
                "quantize symmetrically (symmetric = true)", "1.1 row 12, 7");
  else
    context.add("zero-point-hidden", Severity::kError, name,
                "the zero point is computed, and the parser takes it unchecked where it cannot "
                "trace it (TensorRT 8: always)",
                "make it an initializer of zeros", "1.1 row 12, 7");
}

void zero_point_rules(const CheckContext& context, const Node& node) {
  if (!is_qdq(node)) return;
  if (!node.input(2).valid()) return missing_zero_point(context, node);
  const std::string name = label(context.graph, node);
  const Tensor* zero = qdq::written(context.graph, node).zeros;
  if (zero == nullptr) return hidden_zero_point(context, node);
  const Tensor* scale = qdq::written(context.graph, node).scales;
  if (scale != nullptr && scale->count() != zero->count())
    context.add("zero-point-volume", Severity::kError, name,
                fmt::format("\"The scale and zero point must have the same volume. Size of zero "
                            "point = {}, size of the scale = {}.\"",
                            zero->count(), scale->count()),
                "give both the same shape", "1.1 row 13");
  if (zero->type() == DType::kUint8)
    context.add("zero-point-uint8", Severity::kError, name,
                std::string(reads_uint8_as_int8(context)),
                "write int8 codes: subtract 128 from codes and zero point", "1.1 row 10, 7");
  if (is_integer(zero->type()) && !all_zero(*zero))
    context.add("zero-point-not-zero", Severity::kError, name, std::string(not_symmetric(context)),
                "quantize symmetrically (symmetric = true)", "1.1 row 12");
}

void axis_rules(const CheckContext& context, const Node& node) {
  if (!is_qdq(node)) return;
  const Tensor* scale = qdq::written(context.graph, node).scales;
  const TypeInfo& x = context.graph.value(node.input(0)).type;
  const std::string name = label(context.graph, node);
  if (scale == nullptr || scale->count() <= 1 || scale->rank() != 1 || !x.has_rank()) return;
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

void block_rules(const CheckContext& context, const Node& node) {
  if (!is_qdq(node)) return;
  const Tensor* scale = qdq::written(context.graph, node).scales;
  const TypeInfo& x = context.graph.value(node.input(0)).type;
  if (scale == nullptr || scale->count() <= 1 || !x.has_rank() || scale->rank() == 1) return;
  const std::string name = label(context.graph, node);
  if (scale->rank() != x.rank()) {
    context.add("scale-rank", Severity::kError, name,
                fmt::format("\"Invalid rank for the scale tensor. Rank = {}.\"", scale->rank()),
                "give a scalar, one scale for each channel, or one for each block", "1.1 row 19");
    return;
  }
  int64_t blocked = 0, volume = 1;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const auto dim = (*x.shape)[static_cast<size_t>(axis)].maybe_value();
    if (!dim) return;
    volume *= *dim;
    if (*dim != scale->shape()[static_cast<size_t>(axis)]) ++blocked;
  }
  if (blocked > 1)
    context.add("block-dimensions", Severity::kError, name,
                "\"Only a single blocking dimension is allowed.\"", "block one axis", "1.1 row 17");
  else if (volume % scale->count() != 0)
    context.add("block-size", Severity::kError, name,
                fmt::format("\"Inferred block size is not an integer. Input volume = {}, scale "
                            "volume = {}.\"",
                            volume, scale->count()),
                "choose a block size that divides the axis", "1.1 row 18");
  if (code_type(context, node) == DType::kInt8)
    context.add("block-int8", Severity::kError, name,
                "block quantization is for FP4, FP8 and INT4 only", "use one scale a channel",
                "1.4");
}

void int4_rules(const CheckContext& context, const Node& node) {
  const TypeInfo& x = context.graph.value(node.input(0)).type;
  if (!is_qdq(node) || code_type(context, node) != DType::kInt4 || !x.has_rank()) return;
  int64_t volume = 1, last = 0;
  for (const Dim& d : *x.shape) {
    const auto dim = d.maybe_value();
    if (!dim) return;
    volume *= *dim;
    last = *dim;
  }
  if (context.at_least(1010) ? volume % 2 == 0 : last % 2 == 0) return;
  context.add("int4-odd", Severity::kError, label(context.graph, node),
              context.at_least(1010)
                  ? "\"4-bit quantization requies an even number of elements.\""
                  : "\"Quantization to INT4 is not supported for tensors with an odd last "
                    "dimension.\"",
              "pad the axis, or use int8", "1.1 row 20");
}

void output_type_rule(const CheckContext& context, const Node& node) {
  if (!is_qdq(node) || !node.has_attr("output_dtype")) return;
  context.add("output-dtype", Severity::kError, label(context.graph, node),
              context.at_least(1000)
                  ? "\"Mismatch between attribute output_dtype ... and zero-point data type ...\""
                  : "TensorRT 8 ignores output_dtype, ONNX does not",
              "remove output_dtype: the zero point says the type", "1.1 row 9, 7");
}

/// Equal Q on one tensor: the later one is named.
void sharing_rule(const CheckContext& context, const Node& node) {
  if (!is_quantize(node) || context.graph.constant(node.input(0)) != nullptr) return;
  for (const Uses::Use& use : context.uses.of(node.input(0))) {
    const Node& other = context.graph.node(use.node);
    if (use.input != 0 || !is_quantize(other) || !(other.id < node.id)) continue;
    if (!qdq::have_same_parameters(context.graph, node, other)) continue;
    context.add("duplicate-quantize", Severity::kWarning, label(context.graph, node),
                "the tensor is quantized alike by " + label(context.graph, other),
                "let one Q feed both: TensorRT takes several DQ behind it", "6 E8");
    return;
  }
}

void type_rules(const CheckContext& context, const Node& node) {
  if (!is_qdq(node)) return;
  const std::string name = label(context.graph, node);
  const DType codes = code_type(context, node);
  switch (codes) {
  case DType::kInt8:
  case DType::kUint8: // said by its zero point
  case DType::kUndefined:
    break;
  case DType::kFloat8E4M3FN:
    if (!context.at_least(900))
      context.add("format-too-new", Severity::kError, name,
                  fmt::format("{} needs TensorRT 9", octet::name(codes)), "use int8", "1.2, 7");
    break;
  case DType::kInt4:
    if (!context.at_least(1000))
      context.add("format-too-new", Severity::kError, name,
                  fmt::format("{} needs TensorRT 10", octet::name(codes)), "use int8", "7");
    break;
  case DType::kFloat4E2M1:
    if (!context.at_least(1008))
      context.add("format-too-new", Severity::kError, name,
                  fmt::format("{} needs TensorRT 10.8", octet::name(codes)), "use int8", "1.2");
    break;
  case DType::kInt32:
    context.add(
        "int32-dequantize", Severity::kError, name,
        "TensorRT refuses a DequantizeLinear of int32 codes: \"only activation types allowed as "
        "input to this layer.\"",
        "fold the bias to a float initializer: codes * scale", "1.3, 7");
    break;
  default:
    context.add("format", Severity::kError, name,
                fmt::format("\"Failed to import {}\" for {}",
                            context.at_least(1010) ? "initialzer" : "initializer.",
                            octet::name(codes)),
                "use int8, or FP8 E4M3FN from TensorRT 9 on", "7");
  }
  const bool stored = is_dequantize(node) && context.graph.constant(node.input(0)) != nullptr;
  if (is_dequantize(node) && codes == DType::kUint8 &&
      context.graph.producer(node.input(0)) == nullptr)
    context.add("uint8-data", Severity::kError, name,
                context.at_least(1000) && !context.at_least(1010)
                    ? "TensorRT takes UINT8 data without a word and reads it as INT8"
                    : "\"Found unsupported input type of UINT8\"",
                "store int8: subtract 128", "1.1 row 1, 7");
  if (stored && codes == DType::kInt8 && !context.at_least(1000))
    context.add("stored-int8-weight", Severity::kWarning, name,
                "TensorRT 8's guide wants weights in float behind Q and DQ",
                "store it in float, with Q and DQ behind it: octet repair does", "1.3, 6 E5");
}

constexpr CheckFn* kTensorRtChecks[] = {scale_rules,
                                        zero_point_rules,
                                        axis_rules,
                                        block_rules,
                                        sharing_rule,
                                        int4_rules,
                                        output_type_rule,
                                        type_rules,
                                        codes_of_later_opset,
                                        tensorrt_clip_on_codes,
                                        tensorrt_known_operator,
                                        tensorrt_uint8_tensor,
                                        tensorrt_opset,
                                        tensorrt_types};

} // namespace

std::span<CheckFn* const> tensorrt_checks() {
  return kTensorRtChecks;
}

} // namespace octet

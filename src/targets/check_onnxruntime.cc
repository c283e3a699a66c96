// SPDX-License-Identifier: Apache-2.0
// What ONNX Runtime refuses, or reads as something else. Source: docs/targets.md 4.2 and 8.
#include "core/format.h"
#include "passes/standardize/raise_opset.h"
#include "targets/checks.h"
#include "targets/onnxruntime_load.h"
#include "targets/onnxruntime_parameters.h"
#include "targets/onnxruntime_versions.h"

namespace octet {

namespace {

void domain_rule(const CheckContext& context, const Node& node) {
  if (node.domain.empty() || node.domain == kMicrosoft || node.domain == "ai.onnx.ml") return;
  context.add("unknown-domain", Severity::kError, label(context.graph, node),
              fmt::format("ONNX Runtime has no operators of the domain \"{}\"", node.domain),
              "use standard operators (for octet's own form: the ONNX form of dynamic "
              "quantization)",
              "1.3");
}

void zero_point_rule(const CheckContext& context, const Node& node) {
  if (!is_quantize(node) || node.input(2).valid()) return; // DQ takes the type of its codes
  const DType codes = context.graph.value(node.output(0)).type.type;
  if (codes != DType::kUint8 && codes != DType::kUndefined) return; // said by output_dtype
  context.add("zero-point-missing", Severity::kWarning, label(context.graph, node),
              "without a zero point it is UINT8 with zero point 0: negative values become 0",
              "add a zero-point initializer", "8");
}

void scale_rule(const CheckContext& context, const Node& node) {
  if (!is_quantize(node)) return;
  const Tensor* scale = qdq::written(context.graph, node).scales;
  if (scale == nullptr) return;
  const DType type = context.graph.value(node.input(0)).type.type;
  if (context.graph.opset() >= 23 && type != DType::kUndefined && type != scale->type())
    context.add("scale-type", Severity::kError, label(context.graph, node),
                "from operator set 23 on it fails at run time when the scale's type is not the "
                "tensor's",
                "give the scale the tensor's type, or use operator set 21", "4.2");
}

void zero_point_count_rule(const CheckContext& context, const Node& node) {
  if (!is_qdq(node) || !node.input(2).valid()) return;
  const auto scales = static_count(context.graph, node.input(1));
  const auto zeros = static_count(context.graph, node.input(2));
  if (!scales || !zeros || scales == zeros) return;
  context.add("zero-point-volume", Severity::kError, label(context.graph, node),
              fmt::format("{} zero points for {} scales: at run time \"{}\"", *zeros, *scales,
                          *scales == 1
                              ? "x_zero_point must be null or a scalar or 1D tensor or size 1."
                              : "For per axis quantization, x_zero_point must be null or 1D tensor "
                                "with size [...]"),
              "give it as many zero points as scales: octet repair does where they are equal", "8");
}

void parameter_shape_rule(const CheckContext& context, const Node& node) {
  const std::vector<size_t> inputs = onnxruntime_shaped_parameters(context.graph, node);
  if (inputs.empty()) return;
  const Value& value = context.graph.value(node.input(inputs[0]));
  context.add("parameter-shape", Severity::kError, label(context.graph, node),
              fmt::format("the scale or zero point \"{}\" is {} where the kernel takes "
                          "fewer axes: \"Scale and Zero-point must be a scalar\" or the "
                          "like, when it is loaded or run",
                          value.name, value.type.text()),
              "give it the shape []: octet repair does for constants", "8");
}

void integer_zero_point_rule(const CheckContext& context, const Node& node) {
  const auto input =
      is_cuda(context.target) ? std::nullopt : onnxruntime_wide_zero_point(context.graph, node);
  if (!input) return;
  context.add("integer-zero-point", Severity::kError, label(context.graph, node),
              node.is("ConvInteger")
                  ? "at run time \"Non per-tensor quantization is not supported now.\""
                  : "at run time \"MatmulInteger : input1 zero point must be a scalar or 1D tensor "
                    "of size 1\"",
              "give it one zero point: octet repair does where they are equal, or come off stored "
              "codes within int8",
              "8");
}

void kept_output_type_rule(const CheckContext& context, const Node& node) {
  if (is_cuda(context.target) || !onnxruntime_keeps_output_type(context.graph, context.uses, node))
    return;
  context.add(
      "output-dtype", measured(context), label(context.graph, node),
      "\"output_dtype INT8 does not match y_zero_point type UINT8\": ONNX Runtime 1.31 turns "
      "the codes into UINT8 and leaves the attribute",
      "remove output_dtype, which the zero point says already: octet repair does", "8");
}

void shared_int8_rule(const CheckContext& context, const Node& node) {
  if (!is_quantize(node) || context.graph.value(node.output(0)).type.type != DType::kInt8) return;
  if (context.graph.constant(node.input(0)) != nullptr) return;
  // A shared DQ counts as a shared Q.
  int readers = context.uses.count(node.output(0));
  for (const Uses::Use& use : context.uses.of(node.output(0)))
    if (const Node& reader = context.graph.node(use.node); is_dequantize(reader))
      readers += context.uses.count(reader.output(0)) - 1;
  if (readers <= 1) return;
  context.add("shared-int8", Severity::kWarning, label(context.graph, node),
              "one int8 Q with several readers keeps the products behind it in float",
              "give each reader its own Q, or use uint8 with zero point 128", "8");
}

/// It puts a Q of its own behind what DQ moves past, says INT8 in output_dtype, and then turns the
/// codes into UINT8.
void moved_int8_rule(const CheckContext& context, const Node& node) {
  if (is_cuda(context.target) || !onnxruntime_moved_int8(context.graph, context.uses, node)) return;
  context.add(
      "moved-int8", measured(context), label(context.graph, node),
      "\"output_dtype INT8 does not match y_zero_point type UINT8\": from operator set 21 on "
      "ONNX Runtime 1.31 fails to load int8 codes that go through it without a Q behind it",
      "use uint8, or put Q/DQ behind it: octet repair does; or write it for operator set 20", "8");
}

/// QLinearConcat, which it makes of them, takes float32 scales only.
void half_concat_rule(const CheckContext& context, const Node& node) {
  if (is_cuda(context.target) || !onnxruntime_half_concat(context.graph, context.uses, node))
    return;
  context.add(
      "half-concat", measured(context), label(context.graph, node),
      "\"Type 'tensor(float16)' of input parameter [...] of operator (QLinearConcat) [...] is "
      "invalid\": ONNX Runtime 1.31 fails to load Q/DQ in float16 around a Concat",
      "let Q behind the Concat work on f32: octet repair does; or quantize the model in float32",
      "8");
}

void bias_rule(const CheckContext& context, const Node& node) {
  if (!onnxruntime_misreads_bias(context.graph, context.target, node)) return;
  context.add("bias-scale", measured(context), label(context.graph, node),
              "ONNX Runtime 1.31 adds the bias' int32 codes to the sum as they are, at input scale "
              "times weight scale and zero point 0: not the bias that its DQ gives",
              "store the bias at that scale, or in float: octet repair does", "8");
}

void opset_rule(const CheckContext& context, const Node& node) {
  if (!context.once(node)) return;
  const int64_t have = context.graph.opset(), bound = release_of(context.target).opset;
  if (have <= bound) return;
  context.add("opset", Severity::kError, context.graph.name,
              fmt::format("\"Opset {} is under development and support for this is limited. [...] "
                          "Current official support for domain ai.onnx is till opset {}.\"",
                          have, bound),
              fmt::format("write it for operator set {}: {}", bound,
                          have <= kNewestOpset ? "octet repair does"
                                               : "octet cannot, so do it where the file is made"),
              "8, releases");
}

void ir_version_rule(const CheckContext& context, const Node& node) {
  if (!context.once(node)) return;
  const int64_t have = context.graph.info.ir_version;
  const int64_t bound = release_of(context.target).ir_version;
  if (have <= bound) return;
  context.add("ir-version", Severity::kError, context.graph.name,
              fmt::format("\"Unsupported model IR version: {}, max supported IR version: {}\"",
                          have, bound),
              fmt::format("write it as version {}: octet repair does", bound), "8, releases");
}

void kernel_rule(const CheckContext& context, const Node& node) {
  if (!is_cuda(context.target) || has_cuda_kernel(node)) return;
  context.add("no-cuda-kernel", Severity::kWarning, label(context.graph, node),
              "the CUDA provider has no kernel for it: it runs on the CPU, between two copies",
              "write it with operators that have one", "4.2");
}

void cuda_only_rule(const CheckContext& context, const Node& node) {
  if (is_cuda(context.target) || !needs_cuda(node)) return;
  context.add("no-cpu-kernel", Severity::kError, label(context.graph, node),
              fmt::format("\"Could not find an implementation for {}(1) node with name '{}'\"",
                          node.op_type, node.name),
              "run it with the CUDA provider, or write it with standard operators: octet repair "
              "does",
              "4.4");
}

constexpr CheckFn* kOnnxRuntimeChecks[] = {opset_rule,
                                           ir_version_rule,
                                           domain_rule,
                                           zero_point_rule,
                                           scale_rule,
                                           odd_scale,
                                           zero_point_count_rule,
                                           parameter_shape_rule,
                                           integer_zero_point_rule,
                                           kept_output_type_rule,
                                           shared_int8_rule,
                                           moved_int8_rule,
                                           half_concat_rule,
                                           bias_rule,
                                           onnxruntime_fused,
                                           kernel_rule,
                                           cuda_only_rule,
                                           onnxruntime_schema,
                                           onnxruntime_layout,
                                           onnxruntime_kernel_types,
                                           onnxruntime_microsoft_types,
                                           onnxruntime_shared_constant,
                                           onnxruntime_exact_mode_kernel};

} // namespace

std::span<CheckFn* const> onnxruntime_checks() {
  return kOnnxRuntimeChecks;
}

} // namespace octet

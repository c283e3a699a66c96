// SPDX-License-Identifier: Apache-2.0
// Operators that TensorRT's parser does not import, or imports as something else. Source:
// docs/targets.md 1.3 and 7 (measured).
#include <algorithm>

#include "core/format.h"
#include "targets/checks.h"
#include "targets/tensorrt_operators.h"

namespace octet {

void tensorrt_clip_on_codes(const CheckContext& context, const Node& node) {
  if (!node.is("Clip")) return;
  const DType type = context.graph.value(node.input(0)).type.type;
  if (!is_byte(type)) return;
  const auto computed = [&](size_t input) {
    return node.input(input).valid() && context.graph.constant(node.input(input)) == nullptr;
  };
  std::string message = "Clip on int8 parses as Clip(0, 0): every value becomes 0";
  if (computed(1) || computed(2))
    message =
        context.at_least(1000)
            ? "\"This version of TensorRT only supports floating-point, INT32, or INT64 inputs "
              "for Clip! The current input type is INT8.\""
            : "\"This version of TensorRT only supports FLOAT or INT32 inputs for Clip!\"";
  context.add("clip-on-codes", Severity::kError, label(context.graph, node), std::move(message),
              "at 8 bits remove it; below 8 bits clip in float before Q", "1.3, 7");
}

namespace {

constexpr std::string_view kNoPlugin =
    "\"Plugin not found, are the plugin name, version, and namespace correct?\"";

/// The parser looks operators up by type alone; these mean the same in both domains.
bool means_the_same(const Node& node) {
  return node.domain.empty() || is_qdq(node) || node.domain == "trt" ||
         node.domain == "trt.plugins" || node.is("Gelu", kMicrosoft);
}

bool is_integer_form(const Node& node) {
  return node.domain.empty() && facts_of(node).on_codes;
}

std::string not_imported(const CheckContext& context, const Node& node) {
  const auto since = tensorrt_operator_since(node.op_type);
  std::string why =
      fmt::format("\"No importer registered for op: {}. Attempting to import as plugin.\", then {}",
                  node.op_type, kNoPlugin);
  if (since && *since > context.target.version)
    why += fmt::format("; {} came with TensorRT {}.{}", node.op_type, *since / 100, *since % 100);
  return why;
}

} // namespace

void tensorrt_known_operator(const CheckContext& context, const Node& node) {
  const std::string name = label(context.graph, node);
  if (is_integer_form(node)) {
    context.add("integer-operator", Severity::kError, name,
                context.at_least(1000)
                    ? fmt::format("\"Assertion failed: false\" from check{}", node.op_type)
                    : std::string(kNoPlugin),
                node.op_type == "DynamicQuantizeLinear"
                    ? "give it a fixed range: octet repair --data takes it from data"
                    : "write it as Q/DQ around the float operator",
                "1.3, 7");
    return;
  }
  const bool imported = tensorrt_imports(node.op_type, context.target.version);
  if (imported && means_the_same(node)) return;
  if (imported) {
    context.add("unknown-domain", Severity::kError, name,
                fmt::format("the parser ignores the domain \"{}\" and imports the {} of ONNX",
                            node.domain, node.op_type),
                "use standard operators", "7");
    return;
  }
  if (!node.domain.empty()) {
    context.add("unknown-domain", Severity::kError, name, not_imported(context, node),
                fmt::format("the domain \"{}\" is not ONNX; use standard operators", node.domain),
                "1.3, 7");
    return;
  }
  const bool later = tensorrt_operator_since(node.op_type).has_value();
  context.add(later ? "operator-too-new" : "unknown-operator", Severity::kError, name,
              not_imported(context, node), "write it with elementary operators", "1.3, 7");
}

void tensorrt_uint8_tensor(const CheckContext& context, const Node& node) {
  if (is_qdq(node) || !context.at_least(806)) return;
  for (const ValueId id : node.outputs)
    if (id.valid() && context.graph.value(id).type.type == DType::kUint8)
      context.add("uint8-tensor", Severity::kError, label(context.graph, node),
                  "\"TensorRT does not support UINT8 types for intermediate tensors!\"",
                  "use int8 codes", "1.3, 7");
}

void tensorrt_opset(const CheckContext& context, const Node& node) {
  if (!context.once(node)) return;
  const int64_t bound = context.target.placement->max_opset;
  if (context.graph.opset() > bound)
    context.add("opset", Severity::kWarning, context.graph.name,
                fmt::format("operator set {} is above the documented {}; the parser does not "
                            "enforce it",
                            context.graph.opset(), bound),
                fmt::format("leave it, or write it for operator set {}: octet export --opset {}",
                            bound, bound),
                "1.2, 7");
}

} // namespace octet

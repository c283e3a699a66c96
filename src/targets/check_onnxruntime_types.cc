// SPDX-License-Identifier: Apache-2.0
// Types and attributes that ONNX Runtime refuses when it loads a model: those that the operator's
// version in ONNX does not have, and those that it has no kernel for on the CPU. Kernels are those
// of release 1.31; an earlier one may have fewer. Source: docs/targets.md 8, "Types".
#include <algorithm>

#include "core/format.h"
#include "passes/standardize/coded_operators.h"
#include "targets/checks.h"
#include "targets/onnxruntime_kernels.h"
#include "targets/onnxruntime_versions.h"

namespace octet {

namespace {

constexpr int64_t kOldestInTable = 7;

/// Each type has a kernel, but not beside the others.
void onnxruntime_joint_types(const CheckContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const auto fault = joint_kernel_fault(graph, node);
  if (!fault) return;
  const auto* schema =
      node.domain.empty() ? onnx_schemas().find(node.op_type, graph.opset()) : nullptr;
  const int64_t version = schema != nullptr ? schema->since : 1;
  if (fault->type) {
    context.add(
        "no-cpu-kernel", Severity::kError, label(graph, node),
        fmt::format("\"NOT_IMPLEMENTED : Could not find an implementation for {}({}) node\", "
                    "or a type error: no kernel of it takes {} with the types beside it",
                    node.op_type, version, text_of(graph, node, *fault->type)),
        decompose_coded_operator(graph, node)
            ? "give it types that it has a kernel for, or write it with Q and DQ: "
              "octet repair does"
            : "give it types that it has a kernel for, or write it with other "
              "operators",
        "8, types");
    return;
  }
  // Operators of com.microsoft come and go between releases.
  context.add(
      "no-cpu-kernel", measured(context), label(graph, node),
      fmt::format("com.microsoft.{} is no operator that ONNX Runtime 1.31 has a CPU kernel for",
                  node.op_type),
      "write it with standard operators", "8, types");
}

} // namespace

void onnxruntime_schema(const CheckContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const int64_t opset = graph.opset();
  if (!node.domain.empty() || opset < kOldestInTable) return;
  const OperatorTypes::Version* schema = onnx_schemas().find(node.op_type, opset);
  if (schema == nullptr || schema->missing) {
    const auto* versions = onnx_schemas().versions(node.op_type);
    if (schema != nullptr)
      context.add(
          "operator-version", Severity::kError, label(graph, node),
          fmt::format("{} is deprecated from operator set {} on", node.op_type, schema->since),
          "write it with the operator that replaced it", "8, types");
    else if (versions != nullptr && versions->front().since > opset)
      context.add(
          "operator-version", Severity::kError, label(graph, node),
          fmt::format("\"No Op registered for {} with domain_version of {}\"", node.op_type, opset),
          fmt::format("it came with operator set {}: octet export --opset {}",
                      versions->front().since, versions->front().since),
          "8, types");
    return;
  }
  for (const auto& [key, attribute] : node.attributes)
    if (std::find(schema->attributes.begin(), schema->attributes.end(), key) ==
        schema->attributes.end())
      context.add("unknown-attribute", Severity::kError, label(graph, node),
                  fmt::format("\"Unrecognized attribute: {} for operator {}\"", key, node.op_type),
                  fmt::format("remove it: operator set {} does not know it", opset), "8, types");
  const auto fault = type_fault(graph, node, *schema);
  if (!fault) return;
  context.add("operator-type", Severity::kError, label(graph, node),
              fmt::format("\"Type Error: [...]\": operator set {} does not take {}", opset,
                          text_of(graph, node, *fault)),
              fix_of_type(graph, node), "8, types");
}

void onnxruntime_layout(const CheckContext& context, const Node& node) {
  if (is_cuda(context.target) || node.attr_int("layout", 0) == 0) return;
  if (!node.is("GRU") && !node.is("LSTM") && !node.is("RNN")) return;
  context.add("no-cpu-kernel", Severity::kError, label(context.graph, node),
              "\"Batchwise recurrent operations (layout == 1) are not supported.\"",
              "transpose its input and output and use layout 0", "8, types");
}

void onnxruntime_kernel_types(const CheckContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (!node.domain.empty() || is_cuda(context.target) || graph.opset() < kOldestInTable) return;
  const OperatorTypes::Version* schema = onnx_schemas().find(node.op_type, graph.opset());
  const OperatorTypes::Version* kernel =
      onnxruntime_cpu_kernels().find(node.op_type, graph.opset());
  if (schema == nullptr || schema->missing || kernel == nullptr || type_fault(graph, node, *schema))
    return;
  // f16 without a kernel is computed in f32, between casts that it puts in by itself.
  const auto fault = type_fault(graph, node, *kernel, {DType::kFloat16, DType::kFloat32})
                         ? type_fault(graph, node, *kernel)
                         : std::nullopt;
  if (!fault && !kernel->missing) return onnxruntime_joint_types(context, node);
  context.add(
      "no-cpu-kernel", Severity::kError, label(graph, node),
      fmt::format("\"NOT_IMPLEMENTED : Could not find an implementation for {}({}) node\"{}",
                  node.op_type, schema->since,
                  fault ? ": it has no kernel that takes " + text_of(graph, node, *fault)
                        : std::string()),
      fault ? "compute it in f32, between Casts"
            : "write it with other operators, or for an earlier operator set",
      "8, types");
}

void onnxruntime_microsoft_types(const CheckContext& context, const Node& node) {
  if (node.domain != kMicrosoft || is_cuda(context.target) || needs_cuda(node)) return;
  onnxruntime_joint_types(context, node);
}

} // namespace octet

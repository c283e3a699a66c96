// SPDX-License-Identifier: Apache-2.0
// Types and attributes that ONNX Runtime refuses when it loads a model: those that the operator's
// version in ONNX does not have, and those that it has no kernel for on the CPU. Kernels are those
// of release 1.31; an earlier one may have fewer. Source: docs/targets.md 8, "Types".
#include <algorithm>

#include "core/format.h"
#include "passes/standardize/coded_operators.h"
#include "targets/onnxruntime/kernels.h"
#include "targets/onnxruntime/releases.h"
#include "targets/onnxruntime/rules.h"
#include "targets/shared_rules.h"

namespace octet::onnxruntime {

namespace {

constexpr int64_t kOldestInTable = 7;

/// The operator's version in ONNX; null: there is none, or the tables do not reach so far back.
const OperatorTypes::Version* schema_of(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || graph.opset() < kOldestInTable) return nullptr;
  const OperatorTypes::Version* out = onnx_schemas().find(node.op_type, graph.opset());
  return out != nullptr && !out->missing ? out : nullptr;
}

void find_operator_version(const CheckContext& context, const Node& node, Found& found) {
  const int64_t opset = context.graph.opset();
  if (!node.domain.empty() || opset < kOldestInTable || schema_of(context.graph, node) != nullptr)
    return;
  const OperatorTypes::Version* gone = onnx_schemas().find(node.op_type, opset);
  const auto* versions = onnx_schemas().versions(node.op_type);
  if (gone != nullptr)
    found.add(node,
              fmt::format("{} is deprecated from operator set {} on", node.op_type, gone->since),
              "write it with the operator that replaced it");
  else if (versions != nullptr && versions->front().since > opset)
    found.add(
        node,
        fmt::format("\"No Op registered for {} with domain_version of {}\"", node.op_type, opset),
        fmt::format("it came with operator set {}: octet export --opset {}",
                    versions->front().since, versions->front().since));
}

void find_unknown_attribute(const CheckContext& context, const Node& node, Found& found) {
  const OperatorTypes::Version* schema = schema_of(context.graph, node);
  if (schema == nullptr) return;
  const auto& known = schema->attributes;
  for (const auto& entry : node.attributes)
    if (std::find(known.begin(), known.end(), entry.first) == known.end())
      found.add(
          node,
          fmt::format("\"Unrecognized attribute: {} for operator {}\"", entry.first, node.op_type),
          fmt::format("remove it: operator set {} does not know it", context.graph.opset()));
}

void find_operator_type(const CheckContext& context, const Node& node, Found& found) {
  const Graph& graph = context.graph;
  const OperatorTypes::Version* schema = schema_of(graph, node);
  const auto fault = schema != nullptr ? type_fault(graph, node, *schema) : std::nullopt;
  if (fault)
    found.add(node,
              fmt::format("\"Type Error: [...]\": operator set {} does not take {}", graph.opset(),
                          text_of(graph, node, *fault)),
              fix_of_type(graph, node));
}

void find_recurrent_layout(const CheckContext&, const Node& node, Found& found) {
  if (node.attr_int("layout", 0) == 0) return;
  if (node.is("GRU") || node.is("LSTM") || node.is("RNN"))
    found.add(node, "\"Batchwise recurrent operations (layout == 1) are not supported.\"",
              "transpose its input and output and use layout 0");
}

/// The kernels of an operator whose types are ONNX's; null: they are not, or not in the table.
const OperatorTypes::Version* kernels_of(const Graph& graph, const Node& node) {
  const OperatorTypes::Version* schema = schema_of(graph, node);
  if (schema == nullptr || type_fault(graph, node, *schema)) return nullptr;
  return onnxruntime_cpu_kernels().find(node.op_type, graph.opset());
}

/// f16 without a kernel is computed in f32, between casts that it puts in by itself.
std::optional<TypeFault>
kernel_fault(const Graph& graph, const Node& node, const OperatorTypes::Version& kernels) {
  return type_fault(graph, node, kernels, {DType::kFloat16, DType::kFloat32})
             ? type_fault(graph, node, kernels)
             : std::nullopt;
}

void find_kernel_type(const CheckContext& context, const Node& node, Found& found) {
  const Graph& graph = context.graph;
  const OperatorTypes::Version* kernels = kernels_of(graph, node);
  if (kernels == nullptr) return;
  const auto fault = kernel_fault(graph, node, *kernels);
  if (!fault && !kernels->missing) return;
  found.add(node,
            fmt::format("\"NOT_IMPLEMENTED : Could not find an implementation for {}({}) node\"{}",
                        node.op_type, schema_of(graph, node)->since,
                        fault ? ": it has no kernel that takes " + text_of(graph, node, *fault)
                              : std::string()),
            fault ? "compute it in f32, between Casts"
                  : "write it with other operators, or for an earlier operator set");
}

/// Why no kernel takes the types of a node beside each other, where each by itself has one.
std::optional<KernelFault> joint_fault(const Graph& graph, const Node& node) {
  if (node.domain == kMicrosoft)
    return needs_cuda(node) ? std::nullopt : joint_kernel_fault(graph, node);
  const OperatorTypes::Version* kernels = kernels_of(graph, node);
  if (kernels == nullptr || kernels->missing || kernel_fault(graph, node, *kernels))
    return std::nullopt;
  return joint_kernel_fault(graph, node);
}

void find_joint_types(const CheckContext& context, const Node& node, Found& found) {
  const Graph& graph = context.graph;
  const auto fault = joint_fault(graph, node);
  if (!fault || !fault->type) return;
  const OperatorTypes::Version* schema = schema_of(graph, node);
  found.add(node,
            fmt::format("\"NOT_IMPLEMENTED : Could not find an implementation for {}({}) node\", "
                        "or a type error: no kernel of it takes {} with the types beside it",
                        node.op_type, schema != nullptr ? schema->since : 1,
                        text_of(graph, node, *fault->type)),
            decompose_coded_operator(graph, node)
                ? "give it types that it has a kernel for, or write it with Q and DQ: "
                  "octet repair does"
                : "give it types that it has a kernel for, or write it with other "
                  "operators");
}

/// Operators of com.microsoft come and go between releases.
void find_no_kernel(const CheckContext& context, const Node& node, Found& found) {
  const auto fault = joint_fault(context.graph, node);
  if (fault && !fault->type)
    found.add(
        node,
        fmt::format("com.microsoft.{} is no operator that ONNX Runtime 1.31 has a CPU kernel for",
                    node.op_type),
        "write it with standard operators");
}

} // namespace

constexpr TargetRule kOperatorVersion = {
    .id = "operator-version", .clause = "8, types", .find = find_operator_version};
constexpr TargetRule kUnknownAttribute = {
    .id = "unknown-attribute", .clause = "8, types", .find = find_unknown_attribute};
constexpr TargetRule kOperatorType = {
    .id = "operator-type", .clause = "8, types", .find = find_operator_type};
constexpr TargetRule kRecurrentLayout = {.id = "no-cpu-kernel",
                                         .clause = "8, types",
                                         .provider = Provider::kCpu,
                                         .find = find_recurrent_layout};
constexpr TargetRule kKernelType = {.id = "no-cpu-kernel",
                                    .clause = "8, types",
                                    .provider = Provider::kCpu,
                                    .find = find_kernel_type};
constexpr TargetRule kJointTypes = {.id = "no-cpu-kernel",
                                    .clause = "8, types",
                                    .provider = Provider::kCpu,
                                    .find = find_joint_types,
                                    .mends = {Mend::kQOperatorWithoutKernel}};
constexpr TargetRule kNoKernel = {.id = "no-cpu-kernel",
                                  .clause = "8, types",
                                  .provider = Provider::kCpu,
                                  .measured = 131,
                                  .find = find_no_kernel};

} // namespace octet::onnxruntime

// SPDX-License-Identifier: Apache-2.0
// Types that TensorRT's parser has none for: of inputs, initializers and Casts. Source: its
// table of types in the branches 8.5-GA to 10.x of onnx/onnx-tensorrt, and docs/targets.md 7.
#include "core/format.h"
#include "targets/checks.h"

namespace octet {

namespace {

/// f64 is read as f32.
bool tensorrt_has_type(DType type, int version) {
  switch (type) {
  case DType::kUndefined:
  case DType::kFloat64:
  case DType::kFloat32:
  case DType::kFloat16:
  case DType::kInt8:
  case DType::kUint8:
  case DType::kBool:
  case DType::kInt32:
  case DType::kInt64:
    return true;
  case DType::kBfloat16:
  case DType::kFloat8E4M3FN:
    return version >= 900;
  case DType::kInt4:
    return version >= 1000;
  case DType::kFloat4E2M1:
  case DType::kFloat8E8M0:
    return version >= 1008;
  default:
    return false;
  }
}

} // namespace

void tensorrt_types(const CheckContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const int version = context.target.version;
  if (context.once(node))
    for (const ValueId id : graph.inputs()) {
      const DType type = graph.value(id).type.type;
      if (!tensorrt_has_type(type, version))
        context.add("input-type", Severity::kError, graph.value(id).name,
                    "\"Failed to convert ONNX date type to TensorRT data type.\"",
                    fmt::format("the input is {}; let it come in as i32, i64 or f32, or cast it "
                                "outside of the model",
                                octet::name(type)),
                    "7");
    }
  if (node.is("Cast")) {
    const auto to = static_cast<DType>(node.attr_int("to", 0));
    if (!tensorrt_has_type(to, version))
      context.add("cast-type", Severity::kError, label(graph, node),
                  fmt::format("TensorRT has no type for {}", octet::name(to)),
                  "cast to i32, i64 or a float type", "7");
  }
  for (const ValueId id : node.inputs) {
    const Tensor* constant = id.valid() ? graph.constant(id) : nullptr;
    if (constant == nullptr || is_qdq(node) || tensorrt_has_type(constant->type(), version))
      continue;
    context.add("initializer-type", Severity::kError, label(graph, node),
                context.at_least(1010) ? "\"Failed to import initialzer\""
                                       : "\"Failed to import initializer.\"",
                fmt::format("\"{}\" is {}; store it as i32, i64 or f32", graph.value(id).name,
                            octet::name(constant->type())),
                "7");
  }
}

} // namespace octet

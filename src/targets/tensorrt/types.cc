// SPDX-License-Identifier: Apache-2.0
// Types that TensorRT's parser has none for: of inputs, initializers and Casts. Source: its
// table of types in the branches 8.5-GA to 10.x of onnx/onnx-tensorrt, and docs/targets.md 7.
#include "core/format.h"
#include "targets/tensorrt/rules.h"

namespace octet::tensorrt {

namespace {

/// f64 is read as f32.
bool has_type(const CheckContext& context, DType type) {
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
    return context.at_least(900);
  case DType::kInt4:
    return context.at_least(1000);
  case DType::kFloat4E2M1:
  case DType::kFloat8E8M0:
    return context.at_least(1008);
  default:
    return false;
  }
}

void find_input_type(const CheckContext& context, Found& found) {
  for (const ValueId id : context.graph.inputs()) {
    const Value& input = context.graph.value(id);
    if (!has_type(context, input.type.type))
      found.add(input.name, "\"Failed to convert ONNX date type to TensorRT data type.\"",
                fmt::format("the input is {}; let it come in as i32, i64 or f32, or cast it "
                            "outside of the model",
                            octet::name(input.type.type)));
  }
}

void find_cast_type(const CheckContext& context, const Node& node, Found& found) {
  if (!node.is("Cast")) return;
  const auto to = static_cast<DType>(node.attr_int("to", 0));
  if (!has_type(context, to))
    found.add(node, fmt::format("TensorRT has no type for {}", octet::name(to)),
              "cast to i32, i64 or a float type");
}

void find_initializer_type(const CheckContext& context, const Node& node, Found& found) {
  if (is_qdq(node)) return;
  for (const ValueId id : node.inputs) {
    const Tensor* constant = id.valid() ? context.graph.constant(id) : nullptr;
    if (constant == nullptr || has_type(context, constant->type())) continue;
    found.add(node,
              context.at_least(1010) ? "\"Failed to import initialzer\""
                                     : "\"Failed to import initializer.\"",
              fmt::format("\"{}\" is {}; store it as i32, i64 or f32", context.graph.value(id).name,
                          octet::name(constant->type())));
  }
}

} // namespace

constexpr TargetRule kInputType = {.id = "input-type", .clause = "7", .find = find_input_type};
constexpr TargetRule kCastType = {.id = "cast-type", .clause = "7", .find = find_cast_type};
constexpr TargetRule kInitializerType = {
    .id = "initializer-type", .clause = "7", .find = find_initializer_type};

} // namespace octet::tensorrt

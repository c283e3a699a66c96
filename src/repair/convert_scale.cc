// SPDX-License-Identifier: Apache-2.0
//   Q or DQ with a scale of i32, f64, ...   =>   the scale as f32
//   TensorRT 8, f16:  x ─▶ Q(f16 scale)   =>   x ─▶ Cast(f32) ─▶ Q(f32 scale)
//                     DQ(f16 scale) ─▶ y  =>   DQ(f32 scale) ─▶ Cast(f16) ─▶ y
//   ONNX Runtime, operator set 23: x and scale of Q in one type, scale and output of a DQ that is
//   fused
// DQ is exact: a code times a half is exact in f32. Q divides in f32 instead of f16: a value near a
// tie may take the next code. Source: docs/targets.md 1.1 row 4, 1.2, 4.2, 7.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "graph/label.h"
#include "ops/qdq/grid.h"
#include "repair/rules.h"
#include "targets/checks.h"
#include "targets/onnxruntime/load.h"

namespace octet {

namespace {

ValueId cast(Patch& patch, ValueId x, DType type, const std::string& name) {
  Attributes to;
  to["to"].value = static_cast<int64_t>(type);
  return patch.emit("Cast", {x}, std::move(to), name);
}

/// The type that the scale must have; kUndefined: the one that it has.
DType wanted_type(const RepairContext& context, const Node& node, DType scale) {
  const bool real =
      scale == DType::kFloat32 || scale == DType::kFloat16 || scale == DType::kBfloat16;
  if (!real) return DType::kFloat32;
  if (context.is_tensorrt() && context.target.version < 1000 && scale != DType::kFloat32)
    return DType::kFloat32;
  if (context.target.family == TargetFamily::kOnnxRuntime && context.graph.opset() >= 23 &&
      is_quantize(node)) {
    const DType x = context.graph.value(node.input(0)).type.type;
    if (x != DType::kUndefined && x != scale) return DType::kFloat32;
  }
  if (context.target.family == TargetFamily::kOnnxRuntime && scale != DType::kFloat32 &&
      node.attr_int("output_dtype", 0) == static_cast<int64_t>(DType::kFloat32) &&
      onnxruntime_mixed_scale(context.graph, context.uses, context.target, node) != nullptr)
    return DType::kFloat32;
  return DType::kUndefined;
}

} // namespace

std::optional<Repair> convert_scale(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const Tensor* scale = is_qdq(node) ? qdq::written(graph, node).scales : nullptr;
  if (scale == nullptr || scale->type() == DType::kFloat8E8M0) return std::nullopt;
  const DType from = scale->type(), to = wanted_type(context, node, from);
  if (to == DType::kUndefined) return std::nullopt;
  const auto values = scale->to_doubles();
  if (!values.ok()) return std::nullopt;
  auto tensor = Tensor::from_doubles(to, scale->shape(), *values);
  if (!tensor.ok()) return std::nullopt;
  double lost = 0, largest = 0;
  for (const double s : *values) {
    lost = std::max(lost, std::abs(qdq::as_float(s) - s));
    largest = std::max(largest, std::abs(s));
  }
  const bool half = from == DType::kFloat16 || from == DType::kBfloat16;
  const bool rounds = is_quantize(node) && half;
  Patch patch(graph, fmt::format("the {} scale becomes {}", octet::name(from), octet::name(to)),
              lost == 0 && !rounds ? Exactness::kExact : Exactness::kRounding);
  patch.from(node);
  const std::string name = name_of(graph, node);
  std::vector<ValueId> inputs = node.inputs;
  inputs[1] = patch.constant(name + "_scale", *tensor);
  const DType x = graph.value(node.input(0)).type.type;
  if (is_quantize(node) && x != DType::kUndefined && x != to && is_float(x))
    inputs[0] = cast(patch, inputs[0], to, name + "_cast");
  ValueId y = patch.emit(node.op_type, std::move(inputs), node.attributes, node.name, node.domain);
  // What a DQ makes is the scale's type, where it says no other.
  const bool says = node.attr_int("output_dtype", 0) != 0;
  if (is_dequantize(node) && half && !says) y = cast(patch, y, from, name + "_cast");
  patch.replace(node.output(0), y);
  // Between codes at most 255 steps apart the lost part of the scale adds up; a tie costs a step.
  return Repair{std::move(patch), 255 * lost + (rounds ? largest : 0)};
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// Reductions of ScatterElements and ScatterND for types that their kernels only copy: the model
// loads, and fails when it runs. Source: docs/targets.md 8, "Types".
#include "core/format.h"
#include "targets/onnxruntime/kernels.h"
#include "targets/onnxruntime/rules.h"

namespace octet {

bool onnxruntime_reduces(const Node& node, DType type) {
  const bool of_elements = node.is("ScatterElements");
  if (!of_elements && !node.is("ScatterND")) return true;
  const std::string reduction = node.attr_string("reduction", "none");
  if (reduction == "none") return true;
  if (type == DType::kBfloat16) return false;
  if (reduction == "add") return type != DType::kFloat16;
  if (reduction == "mul") return type != DType::kFloat16 && type != DType::kString;
  if (type == DType::kFloat16) return of_elements;
  return type != DType::kBool && type != DType::kString;
}

namespace onnxruntime {

namespace {

void find_scatter_reduction(const CheckContext& context, const Node& node, Found& found) {
  if (!node.input(0).valid()) return;
  const DType type = context.graph.value(node.input(0)).type.type;
  if (onnxruntime_reduces(node, type)) return;
  const bool half = type == DType::kFloat16 || type == DType::kBfloat16;
  found.add(node,
            fmt::format("\"CPU execution provider: [...] data type is not supported with {} opset "
                        "[...] when reduction is '{}'.\": the file loads and does not run with {}",
                        node.op_type, node.attr_string("reduction", "none"), name(type)),
            half ? "compute it in f32, between Casts, as octet export --precision writes it"
                 : "compute it in another type, between Casts");
}

} // namespace

constexpr TargetRule kScatterReduction = {.id = "scatter-reduction",
                                          .clause = "8, types",
                                          .provider = Provider::kCpu,
                                          .measured = 131,
                                          .find = find_scatter_reduction};

} // namespace onnxruntime

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
//   octet.native.QDynamicGemm(x, w8 [N, K], w_scale, b)
//   =>   x ─▶ DynamicQuantizeLinear ─▶ q, s, z
//        MatMulInteger(q, w8 [K, N], z) ─▶ Cast(f32) ─▶ Mul(s * w_scale) [─▶ Add(b)] [─▶ Clip]
// Not exact: ONNX's operator takes one uint8 range for the tensor, octet's an int8 one for each
// row. The form that `octet quantize --mode dynamic` writes for ONNX Runtime
// (quant/apply_dynamic.cc).
#include "passes/standardize/decompose_dynamic_gemm.h"

#include "graph/domains.h"
#include "graph/edit.h"
#include "graph/label.h"

namespace octet {

namespace {

/// Products of uint8 and int8 codes that surely fit into int32 together.
constexpr int64_t kMostTerms = 65000;

struct Dynamic {
  ValueId codes, scale, zero;
};

/// One DynamicQuantizeLinear serves all products of a tensor.
Dynamic quantized(Patch& patch,
                  const Graph& graph,
                  ValueId x,
                  std::span<const Uses::Use> uses,
                  const std::string& name) {
  for (const Uses::Use& use : uses)
    if (const Node& reader = graph.node(use.node); reader.is("DynamicQuantizeLinear"))
      return {reader.output(0), reader.output(1), reader.output(2)};
  const ValueId codes = patch.emit("DynamicQuantizeLinear", {x}, {}, name + "_quantized", {}, 3);
  return {codes, patch.output(codes, 1), patch.output(codes, 2)};
}

/// The bounds of a clamp that the product does, as Clip's inputs; invalid: none.
ValueId bound(Patch& patch, const Node& node, const char* key) {
  if (!node.has_attr(key)) return {};
  return patch.constant(node.name + "_" + key, Tensor::scalar(node.attr_float(key, 0)));
}

} // namespace

std::optional<Patch>
decompose_dynamic_gemm(const Graph& graph, const Node& node, std::span<const Uses::Use> uses_of_x) {
  if (!node.is("QDynamicGemm", kNative) || graph.opset() < 11) return std::nullopt;
  const Tensor* weights = graph.constant(node.input(1));
  if (weights == nullptr || weights->type() != DType::kInt8 || weights->rank() != 2 ||
      weights->dim(1) > kMostTerms)
    return std::nullopt;
  Patch patch(graph,
              "ONNX's dynamic quantization: one uint8 range for the tensor instead of an int8 one "
              "for each row",
              Exactness::kInexact);
  patch.from(node);
  const std::string name = name_of(graph, node);
  const Dynamic x = quantized(patch, graph, node.input(0), uses_of_x, name);
  const ValueId w =
      patch.constant(graph.value(node.input(1)).name + "_transposed", transposed(*weights));
  const ValueId sum = patch.emit("MatMulInteger", {x.codes, w, x.zero}, {}, name + "_integer");
  Attributes to_float;
  to_float["to"].value = static_cast<int64_t>(DType::kFloat32);
  const ValueId real = patch.emit("Cast", {sum}, std::move(to_float), name + "_sum");
  const ValueId scale = patch.emit("Mul", {x.scale, node.input(2)}, {}, name + "_scale");
  ValueId y = patch.emit("Mul", {real, scale}, {}, name);
  if (node.input(3).valid()) y = patch.emit("Add", {y, node.input(3)}, {}, name + "_biased");
  const ValueId low = bound(patch, node, "min"), high = bound(patch, node, "max");
  if (low.valid() || high.valid()) y = patch.emit("Clip", {y, low, high}, {}, name + "_clamped");
  patch.replace(node.output(0), y);
  return patch;
}

} // namespace octet

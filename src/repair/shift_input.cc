// SPDX-License-Identifier: Apache-2.0
// The side of shift_activation before Q.
#include "graph/label.h"
#include "ops/evaluate.h"
#include "ops/op.h"
#include "ops/qdq/site.h"
#include "passes/emit.h"
#include "repair/shift.h"

namespace octet {

namespace {

/// The elements of `rounded`, which is constant_value of `value`; those of codes behind one DQ are
/// not rounded to float: ONNX Runtime's products and sums of codes do not round them either.
std::vector<double> constant_numbers(const Graph& graph, ValueId value, const Tensor& rounded) {
  const auto dequantize = qdq::read_dequantize(graph, value);
  const bool one_scale = dequantize && dequantize->grid.per_tensor();
  const auto codes = one_scale ? constant_value(graph, dequantize->codes) : std::nullopt;
  std::vector<double> out;
  out.reserve(static_cast<size_t>(rounded.count()));
  for (int64_t i = 0; i < rounded.count(); ++i)
    out.push_back(codes
                      ? (codes->at(i) - dequantize->grid.zero_at(0)) * dequantize->grid.scale_at(0)
                      : rounded.at(i));
  return out;
}

class InputShift {
 public:
  InputShift(Patch& patch, const RepairContext& context, double by, DType type)
      : patch_(patch), context_(context), graph_(context.graph), by_(by), type_(type) {}

  /// x + by without a node more than there is; nullopt where nothing takes it.
  std::optional<ValueId> into(ValueId x, int depth = 0) {
    const Node* node =
        depth < kShiftDepth && context_.uses.of(x).size() == 1 && !graph_.is_output(x)
            ? graph_.producer(x)
            : nullptr;
    if (node == nullptr || !node->domain.empty()) return std::nullopt;
    if (node->op_type == "Add") return into_add(*node, depth);
    if (moves_values(*node)) {
      const auto in = into(node->input(0), depth + 1);
      return in ? std::optional(emit_with_input(patch_, *node, 0, *in)) : std::nullopt;
    }
    if (node->op_type == "LayerNormalization") return into_layer_norm(*node);
    const bool gemm = node->op_type == "Gemm" && node->attr_float("beta", 1.0F) == 1.0F;
    if (gemm || node->op_type == "Conv") return into_bias(*node);
    return std::nullopt;
  }

 private:
  std::optional<ValueId> into_add(const Node& node, int depth) {
    for (const size_t i : {1U, 0U})
      if (const auto t = constant_value(graph_, node.input(i)); t && t->type() == type_) {
        const ValueId other = node.input(1 - i);
        if (t->rank() == 0 && t->at(0) == qdq::as_float(-by_)) return other;
        const auto numbers = constant_numbers(graph_, node.input(i), *t);
        const std::string name = name_of(graph_, node) + "_shifted";
        return emit_with_input(patch_, node, i, shifted(t->shape(), numbers, name));
      }
    for (const size_t i : {0U, 1U})
      if (const auto in = into(node.input(i), depth + 1))
        return emit_with_input(patch_, node, i, *in);
    return std::nullopt;
  }

  std::optional<ValueId> into_layer_norm(const Node& node) {
    if (node.outputs.size() > 1 && node.output(1).valid()) return std::nullopt;
    const Tensor* scale = graph_.constant(node.input(1));
    const Tensor* beta = graph_.constant(node.input(2));
    if (scale == nullptr || (node.input(2).valid() && beta == nullptr)) return std::nullopt;
    const Shape& shape = scale->shape();
    const std::vector<double> zeros(static_cast<size_t>(scale->count()));
    const std::string name = name_of(graph_, node) + "_beta";
    return emit_with_input(patch_, node, 2,
                           beta != nullptr ? shifted(*beta, name) : shifted(shape, zeros, name));
  }

  /// Gemm with beta 1 and Conv; only where a bias is there.
  std::optional<ValueId> into_bias(const Node& node) {
    const Tensor* bias = graph_.constant(node.input(2));
    if (bias == nullptr || bias->type() != type_) return std::nullopt;
    return emit_with_input(patch_, node, 2, shifted(*bias, name_of(graph_, node) + "_bias"));
  }

  ValueId shifted(const Tensor& t, const std::string& name) {
    return shifted(t.shape(), t.to_doubles().value(), name);
  }

  ValueId shifted(const Shape& shape, std::vector<double> numbers, const std::string& name) {
    for (double& number : numbers)
      number += by_;
    return patch_.constant(name, Tensor::from_doubles(type_, shape, numbers).value());
  }

  Patch& patch_;
  const RepairContext& context_;
  const Graph& graph_;
  double by_;
  DType type_;
};

} // namespace

ValueId emit_shifted(Patch& patch,
                     const RepairContext& context,
                     ValueId x,
                     double by,
                     DType type,
                     const std::string& name) {
  if (const auto done = InputShift(patch, context, by, type).into(x)) return *done;
  return emit_shift(patch, x, by, type, name);
}

} // namespace octet

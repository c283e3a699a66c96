// SPDX-License-Identifier: Apache-2.0
// Which weights are stored in 8 bits when activations stay float until run time: those of every
// product and embedding. In dynamic mode linear layers and LSTM compute in integers, and Conv does
// where an include pattern names it (its ONNX form, ConvInteger, is slow); the others as in
// weight-only.
#include "core/format.h"
#include "graph/bodies.h"
#include "ops/infer.h"
#include "quant/bodies_stay.h"
#include "quant/dynamic_lstm.h"
#include "quant/place.h"

namespace octet {

namespace {

/// Why a layer cannot be dynamic; empty: it can.
std::string no_dynamic(const Placement& placement,
                       const QuantizeOptions& options,
                       const Node& node,
                       const Tensor& w,
                       const NodeFormat& format) {
  if (format.weights && *format.weights != NumberFormat{})
    return name(*format.weights) + " weights have no dynamic form";
  if (node.is("Conv")) {
    if (placement.dynamic != DynamicForm::kOnnx) return "the target has no dynamic convolution";
    return options.mode == QuantMode::kDynamic && options.include.empty()
               ? "dynamic quantization takes linear layers unless Conv is included by name"
               : "";
  }
  if (node.is("Gemm"))
    return node.attr_int("transA", 0) != 0 ? "its first input is transposed" : "";
  if (node.is("MatMul")) return w.rank() == 2 ? "" : "its weight has more than two dimensions";
  return "it has no dynamic form";
}

class WeightPlacer {
 public:
  WeightPlacer(const Graph& graph,
               const Placement& placement,
               const QuantizeOptions& options,
               const std::set<std::string>& in_float)
      : graph_(graph), placement_(placement), options_(options), in_float_(in_float) {}

  NodePlan decide(const Node& node) const {
    NodePlan plan;
    plan.node = node.name;
    plan.op = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
    const auto verdict = pattern_verdict(options_, node);
    if (verdict)
      return stays_float(plan, *verdict,
                         verdict == Placed::kExcluded ? "excluded by pattern"
                                                      : "no include pattern names it");
    if (in_float_.contains(node.name))
      return stays_float(plan, Placed::kCostsAccuracy, std::string(kWhyInFloat));
    if (const std::string_view why = in_codes_already(graph_, node);
        !why.empty() && options_.mode == QuantMode::kDynamic)
      return stays_float(plan, Placed::kInCodes, std::string(why));
    if (has_bodies(node)) return stays_float(plan, Placed::kBodies, why_bodies_stay(graph_, node));
    if (node.is("Gather")) return place_embedding(graph_, placement_, options_, node, plan);
    const NodeFormat format = node_format(options_, node);
    if (format.float_weights())
      return stays_float(plan, Placed::kExcluded, "its weights stay float by their format");
    const OpDef* op = find_op(node.domain, node.op_type);
    const QuantTrait t = op == nullptr ? QuantTrait::none("octet has no definition of it")
                                       : op->quant.fn(node, input_infos(graph_, node));
    if (!t.weight) return stays_float(plan, Placed::kNoWeights, "it has no weights");
    if (node.is("LSTM") && options_.mode == QuantMode::kDynamic)
      return place_dynamic_lstm(graph_, placement_, options_, node, plan);
    if (!t.weight_only)
      return stays_float(plan, Placed::kFloat, "its weights are in codes only where x is");
    const Tensor* w = graph_.constant(node.input(*t.weight));
    if (w == nullptr || w->type() != DType::kFloat32 || w->rank() < 2)
      return stays_float(plan, Placed::kWeightNotF32, "its weight is not an f32 constant");
    plan.weight = static_cast<int64_t>(*t.weight);
    return options_.mode == QuantMode::kDynamic
               ? place_dynamic(placement_, options_, node, *w, plan)
               : place_weight_only(format, {}, plan);
  }

 private:
  static NodePlan stays_float(NodePlan plan, Placed rule, std::string why) {
    plan.rule = rule;
    plan.why = std::move(why);
    return plan;
  }

  const Graph& graph_;
  const Placement& placement_;
  const QuantizeOptions& options_;
  const std::set<std::string>& in_float_;
};

} // namespace

NodePlan place_dynamic(const Placement& placement,
                       const QuantizeOptions& options,
                       const Node& node,
                       const Tensor& weight,
                       NodePlan plan) {
  const NodeFormat format = node_format(options, node);
  const std::string no = no_dynamic(placement, options, node, weight, format);
  if (!no.empty()) return place_weight_only(format, no, std::move(plan));
  plan.quantized = true;
  plan.rule = Placed::kDynamic;
  plan.why = "int8 weights, activations quantized at every run";
  plan.clause = "4.1";
  return plan;
}

NodePlan place_weight_only(const NodeFormat& format, std::string_view instead, NodePlan plan) {
  plan.quantized = true;
  plan.rule = Placed::kWeightOnly;
  plan.why = fmt::format("{}{}{} weights, computed in float", instead, instead.empty() ? "" : ": ",
                         name(format.weights.value_or(NumberFormat{})));
  plan.clause = "6 E5";
  return plan;
}

NodePlan place_embedding(const Graph& graph,
                         const Placement& placement,
                         const QuantizeOptions& options,
                         const Node& node,
                         NodePlan plan) {
  if (!placement.gathers_codes) {
    plan.rule = Placed::kFloat;
    plan.why = "int8 constants feed DequantizeLinear alone there, which would make the whole table";
    plan.clause = "9";
    return plan;
  }
  const Tensor* table = graph.constant(node.input(0));
  if (table == nullptr || table->type() != DType::kFloat32 || table->rank() != 2 ||
      node.attr_int("axis", 0) != 0) {
    plan.rule = Placed::kNoWeights;
    plan.why = "it gathers no rows of an f32 table";
    return plan;
  }
  const NodeFormat format = node_format(options, node);
  if (!format.byte_weights()) {
    plan.rule = Placed::kFloat;
    plan.why = fmt::format("rows of tables are gathered as int8 or uint8, not as {}",
                           name(*format.weights));
    plan.clause = "9";
    return plan;
  }
  plan.quantized = true;
  plan.weight = 0;
  plan.rule = Placed::kEmbedding;
  plan.why = "int8 rows and their scales are gathered, then multiplied";
  plan.clause = "9";
  return plan;
}

Result<std::vector<NodePlan>> place_weights(const Graph& graph,
                                            const Placement& placement,
                                            const QuantizeOptions& options,
                                            const std::set<std::string>& in_float) {
  OCTET_TRY(check_patterns(graph, options));
  const WeightPlacer placer(graph, placement, options, in_float);
  std::vector<NodePlan> out;
  for (const NodeId id : OCTET_TRY(graph.topological()))
    out.push_back(placer.decide(graph.node(id)));
  return out;
}

} // namespace octet

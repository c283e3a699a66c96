// SPDX-License-Identifier: Apache-2.0
// Applying a plan: the graph is prepared as it was for planning, matched with the plan, and written
// in the form that the mode and the target ask for.
#include "quant/apply.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "core/format.h"
#include "graph/edit.h"
#include "graph/label.h"
#include "graph/verify.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/qdq/clamp.h"
#include "ops/qdq/site.h"
#include "passes/standardize/raise_opset.h"
#include "quant/bias_room.h"
#include "quant/format_rules.h"
#include "quant/prepare.h"
#include "quant/qdq_writer.h"
#include "quant/scheme.h"
#include "quant/steps/step.h"

namespace octet {

namespace {

PlanMismatch mismatch(const Graph& prepared, const QuantizationPlan& plan) {
  PlanMismatch out;
  for (const TensorPlan& tensor : plan.tensors)
    if (!prepared.find_value(tensor.value)) out.unmatched.push_back(tensor.value);
  const PlanIndex index(prepared, plan);
  std::unordered_set<std::string_view> planned;
  for (const NodePlan& node : plan.nodes) {
    planned.insert(node.node);
    if (!index.node(node).ok()) out.unmatched.push_back(node.node);
  }
  for (const NodeId id : prepared.nodes())
    if (!planned.contains(prepared.node(id).name)) out.unplanned.push_back(prepared.node(id).name);
  return out;
}

Status finish(Graph& graph) {
  graph.remove_dead();
  OCTET_TRY(infer_types(graph));
  return verify(graph);
}

/// QuantizeLinear of a constant, with the Clip behind it, evaluated: the codes under the name that
/// Q's output had.
Status store_codes(Graph& graph, LiveUses& uses, NodeId id) {
  const Node node = graph.node(id);
  const Node* clamp = qdq::clamp_behind(graph, uses, node.output(0));
  const auto codes = constant_value(graph, (clamp != nullptr ? *clamp : node).output(0));
  if (!codes) return error("node {}: its codes cannot be computed", label(graph, node));
  const std::string name = graph.value(node.output(0)).name;
  const ValueId stored = graph.add_constant(name + "_stored", *codes);
  if (clamp != nullptr) replace_node(graph, uses, clamp->id, stored);
  replace_node(graph, uses, id, stored);
  return ok_status();
}

/// Where weights stay float, the Clip behind Q goes, as TensorRT misreads it (docs/targets.md 7):
/// elements beyond its bounds move onto them.
Status clamp_weight(Graph& graph, LiveUses& uses, NodeId id) {
  const Node node = graph.node(id);
  const ValueId codes = node.output(0);
  const Node* clamp = qdq::clamp_behind(graph, uses, codes);
  if (clamp == nullptr) return ok_status();
  const ValueId clamped = clamp->output(0);
  const NodeId reader = uses.of(clamped).empty() ? NodeId{} : uses.of(clamped)[0].node;
  const auto before = constant_value(graph, codes), after = constant_value(graph, clamped);
  const auto real =
      reader.valid() ? constant_value(graph, graph.node(reader).output(0)) : std::nullopt;
  if (!before || !after || !real)
    return error("node {}: its codes cannot be computed", label(graph, node));
  uses.replace(graph, clamped, codes);
  if (before->identical(*after)) return ok_status();
  const ValueId weight = node.input(0);
  const Tensor& old = *graph.constant(weight);
  std::vector<double> values = OCTET_TRY(old.to_doubles());
  for (int64_t i = 0; i < old.count(); ++i)
    if (before->at(i) != after->at(i)) values[static_cast<size_t>(i)] = real->at(i);
  Tensor moved = OCTET_TRY(Tensor::from_doubles(old.type(), old.shape(), values));
  if (uses.count(weight) == 1)
    graph.set_constant(weight, std::move(moved));
  else
    uses.set_input(graph, id, 0,
                   graph.add_constant(graph.unique_name(graph.value(weight).name + "_clamped"),
                                      std::move(moved)));
  return ok_status();
}

/// A weight's QuantizeLinear as the target wants it.
Status store_weight(Graph& graph, LiveUses& uses, NodeId id, const Placement& placement) {
  const Node& node = graph.node(id);
  const Tensor* scale = qdq::written(graph, node).scales;
  if (scale == nullptr) return ok_status();
  for (const double s : OCTET_TRY(scale->to_doubles()))
    if (!(s > 0))
      return error("node {}: scale {} is not positive; clamp scales while training",
                   label(graph, node), s);
  return placement.stored_weights ? store_codes(graph, uses, id) : clamp_weight(graph, uses, id);
}

bool read_by_quantize(const Graph& graph, const Uses& uses, ValueId value) {
  const NodeId next = uses.single_consumer(value);
  if (!next.valid()) return false;
  const Node& node = graph.node(next);
  if (node.is("QuantizeLinear")) return true;
  return (node.is("Relu") || node.is("Clip")) && read_by_quantize(graph, uses, node.output(0));
}

std::string listed(const std::vector<std::string>& names) {
  const size_t shown = std::min<size_t>(names.size(), 5);
  std::string out;
  for (size_t i = 0; i < shown; ++i)
    out += (i > 0 ? ", \"" : "\"") + names[i] + "\"";
  return names.size() > shown ? fmt::format("{} and {} more", out, names.size() - shown) : out;
}

/// An error that says of each layer why it stays as it is, where all of them do.
Status check_something_changes(const Graph& graph, const QuantizationPlan& plan) {
  if (std::any_of(plan.nodes.begin(), plan.nodes.end(),
                  [](const NodePlan& node) { return node.quantized; }))
    return ok_status();
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons; ///< in the plan's order
  for (const NodePlan& node : plan.nodes) {
    const std::string why = node.op + ": " + node.why;
    auto found = std::find_if(reasons.begin(), reasons.end(),
                              [&](const auto& reason) { return reason.first == why; });
    if (found == reasons.end()) found = reasons.insert(reasons.end(), {why, {}});
    found->second.push_back(node.node);
  }
  std::string all;
  for (const auto& [why, names] : reasons)
    all += fmt::format("{}{} ({})", all.empty() ? "" : "; ", why, listed(names));
  const std::vector<NodeId> nodes = graph.nodes();
  const bool has_codes = std::any_of(
      nodes.begin(), nodes.end(), [&](NodeId id) { return graph.node(id).is("DequantizeLinear"); });
  const std::string way_out =
      has_codes ? fmt::format("the model is quantized already; octet repair --target {} fits its "
                              "layers to the target",
                              plan.target)
                : "choose another target, mode or pattern";
  return error(ErrorCode::kRefused, "nothing becomes 8 bits for {} in {} mode; {}: {}", plan.target,
               name(plan.mode), way_out, all.empty() ? "the model has no layers" : all);
}

} // namespace

Result<PlanMismatch>
compare_plan_for(const Graph& graph, const QuantizationPlan& plan, const Placement& placement) {
  Graph prepared = OCTET_TRY_WITH(prepare_for_quantization(graph, placement), "plan");
  OCTET_TRY_WITH(apply_steps(prepared, plan.steps, StepStage::kFloat), "plan");
  PlanMismatch out = mismatch(prepared, plan);
  out.same_graph = graph.content_hash() == plan.graph_hash;
  return out;
}

Result<Graph> apply_plan(const Graph& graph,
                         const QuantizationPlan& plan,
                         const Placement& placement,
                         WeightStorage storage) {
  Graph out = OCTET_TRY_WITH(prepare_for_quantization(graph, placement), "quantize");
  OCTET_TRY_WITH(check_steps(plan.steps), "quantize");
  OCTET_TRY_WITH(apply_steps(out, plan.steps, StepStage::kFloat), "quantize");
  const PlanMismatch difference = mismatch(out, plan);
  if (!difference.unmatched.empty())
    return error("quantize: the plan is for another graph: {} not found or ambiguous; make a plan "
                 "for this one",
                 listed(difference.unmatched));
  if (!plan.steps.empty() && out.content_hash() != plan.stepped_hash)
    return error("quantize: ranges and steps of the plan are for another graph or behind other "
                 "steps (hash {:016x}, not {:016x}); make a plan for this one",
                 plan.stepped_hash, out.content_hash());
  OCTET_TRY_WITH(check_something_changes(graph, plan), "quantize");
  OCTET_TRY_WITH(apply_behind_ranges(out, plan, placement, storage), "quantize");
  return out;
}

namespace {

/// The operator set and the file format that the plan's codes need.
Status raise_for_formats(Graph& graph, const QuantizationPlan& plan) {
  const PlanVersions needed = versions_of(plan);
  for (const TensorPlan& tensor : plan.tensors)
    OCTET_TRY_WITH(check_scheme(tensor.scheme), fmt::format("\"{}\"", tensor.value));
  if (graph.opset() < needed.opset)
    OCTET_TRY_WITH(raise_opset(graph, needed.opset), "formats of the plan");
  graph.info.ir_version = std::max(graph.info.ir_version, needed.ir_version);
  return ok_status();
}

} // namespace

Status check_trains(const QuantizationPlan& plan) {
  for (const NodePlan& node : plan.nodes)
    if (node.rule == Placed::kDynamic)
      return error(ErrorCode::kUnsupported,
                   "\"{}\" takes ranges at every run: training is for ranges that stay", node.node);
  for (const TensorPlan& tensor : plan.tensors)
    if (!is_byte(format_of(tensor.scheme, tensor.block)))
      return error(ErrorCode::kUnsupported,
                   "\"{}\" is in {}: training quantizes to int8 and uint8 alone", tensor.value,
                   scheme_text(tensor.scheme));
  return ok_status();
}

Status apply_behind_ranges(Graph& out,
                           const QuantizationPlan& planned,
                           const Placement& placement,
                           WeightStorage storage) {
  const QuantizationPlan plan = OCTET_TRY(with_chosen_ranges(out, planned, StepStage::kBias));
  for (const StepStage at : {StepStage::kWeights, StepStage::kBias})
    OCTET_TRY(apply_steps(out, plan.steps, at));
  OCTET_TRY(raise_for_formats(out, plan));
  if (storage == WeightStorage::kTarget)
    OCTET_TRY(apply_embeddings(out, plan, EmbeddingRanges::kPlanned));
  switch (plan.mode) {
  case QuantMode::kStatic:
    OCTET_TRY(apply_static(out, plan, placement, storage));
    OCTET_TRY(apply_dynamic(out, plan, placement));
    break;
  case QuantMode::kDynamic:
    OCTET_TRY(apply_dynamic(out, plan, placement));
    OCTET_TRY(apply_weights(out, plan, placement));
    break;
  case QuantMode::kWeightOnly:
    OCTET_TRY(apply_weights(out, plan, placement));
    break;
  }
  out.info.ir_version = std::min(out.info.ir_version, placement.max_ir_version);
  OCTET_TRY(finish(out));
  return storage == WeightStorage::kTarget ? round_biases(out) : ok_status();
}

Result<Graph>
store_trained(const Graph& trained, const QuantizationPlan& plan, const Placement& placement) {
  Graph out = trained;
  OCTET_TRY_WITH(apply_embeddings(out, plan, EmbeddingRanges::kObserved), "finalize");
  make_room_for_biases(out, placement);
  if (placement.int32_gemm_bias) {
    QdqWriter writer(out);
    const Uses uses(out);
    for (const NodeId id : trained.nodes())
      if (out.node(id).is("Gemm") && !read_by_quantize(out, uses, out.node(id).output(0)))
        OCTET_TRY_WITH(store_bias(out, writer, id), "finalize");
  }
  LiveUses uses(out);
  for (const NodeId id : trained.nodes())
    if (out.node(id).is("QuantizeLinear") && out.constant(out.node(id).input(0)) != nullptr)
      OCTET_TRY_WITH(store_weight(out, uses, id, placement), "finalize");
  OCTET_TRY_WITH(finish(out), "finalize");
  OCTET_TRY_WITH(round_biases(out), "finalize");
  return out;
}

} // namespace octet

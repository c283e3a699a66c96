// SPDX-License-Identifier: Apache-2.0
// Placement in three walks over the graph: which values some integer node wants to read
// (backwards), which nodes become integer (forwards), and what stays float with the reason.
#include "quant/place.h"

#include <algorithm>
#include <set>

#include "core/format.h"
#include "graph/bodies.h"
#include "ops/infer.h"
#include "ops/qdq/quant_layout.h"
#include "ops/qdq/site.h"
#include "passes/match.h"
#include "quant/bodies_stay.h"
#include "quant/dynamic_lstm.h"

namespace octet {

namespace {

/// Of fewer columns of a matrix it does not count in what they are computed.
constexpr int64_t kManySums = 256;

bool is_clamp(const Node& node) {
  return node.is("Relu") || node.is("Clip");
}

class Placer {
 public:
  Placer(const Graph& graph,
         const Placement& placement,
         const QuantizeOptions& options,
         const std::set<std::string>& in_float,
         const std::set<std::string>& float_outputs)
      : graph_(graph), placement_(placement), options_(options), in_float_(in_float),
        float_outputs_(float_outputs), uses_(graph) {}

  Result<std::vector<NodePlan>> run() {
    OCTET_TRY(check_patterns(graph_, options_));
    const std::vector<NodeId> order = OCTET_TRY(graph_.topological());
    for (size_t i = order.size(); i-- > 0;)
      note_wanted(graph_.node(order[i]));
    std::vector<NodePlan> out(order.size());
    for (const size_t i : deciding_order(order))
      out[i] = decide(graph_.node(order[i]));
    return out;
  }

 private:
  QuantTrait trait(const Node& node) const {
    const OpDef* op = find_op(node.domain, node.op_type);
    if (op == nullptr) return QuantTrait::none("octet has no definition of this operator");
    return op->quant.fn(node, input_infos(graph_, node));
  }

  bool is_float32(ValueId id) const {
    return id.valid() && graph_.value(id).type.type == DType::kFloat32;
  }

  /// Empty when the node may be quantized, else the rule and the reason why not.
  struct Refusal {
    Placed rule;
    std::string why, clause;
  };
  std::optional<Refusal> refusal(const Node& node, const PlacementRule* rule) const {
    const auto verdict = pattern_verdict(options_, node);
    if (verdict)
      return Refusal{
          *verdict,
          verdict == Placed::kExcluded ? "excluded by pattern" : "no include pattern names it", ""};
    if (const std::string_view why = in_codes_already(graph_, node); !why.empty())
      return Refusal{Placed::kInCodes, std::string(why), ""};
    if (in_float_.contains(node.name))
      return Refusal{Placed::kCostsAccuracy, std::string(kWhyInFloat), ""};
    if (has_bodies(node)) return Refusal{Placed::kBodies, why_bodies_stay(graph_, node), ""};
    if (rule == nullptr && works_on_codes(node))
      return Refusal{Placed::kInCodes, trait(node).reason, ""};
    if (rule == nullptr)
      return Refusal{Placed::kNoRule, std::string(placement_.otherwise),
                     std::string(placement_.otherwise_clause)};
    if (rule->treatment == Treatment::kFloat || rule->treatment == Treatment::kCommutes)
      return Refusal{rule->treatment == Treatment::kFloat ? Placed::kFloat : Placed::kCommutes,
                     std::string(rule->why), std::string(rule->clause)};
    if (rule->takes != nullptr && !rule->takes(graph_, node))
      return Refusal{Placed::kFloat, std::string(rule->else_why), std::string(rule->clause)};
    const NodeFormat format = node_format(options_, node);
    if (rule->treatment != Treatment::kProduct && !format.byte_activations())
      return Refusal{format.float_activations() ? Placed::kExcluded : Placed::kFloat,
                     format.float_activations()
                         ? "it stays float by its format"
                         : fmt::format("products alone read {}", name(*format.activations)),
                     ""};
    if (is_done_behind(node, *rule))
      return Refusal{Placed::kInCodes, "Q of the file takes its output", ""};
    const ValueId made = made_by(node);
    if (!made.valid()) return Refusal{Placed::kNotF32, "nothing reads it", ""};
    if (!is_float32(made))
      return Refusal{Placed::kNotF32,
                     fmt::format("its output is {}, not f32", graph_.value(made).type.text()), ""};
    if (rule->on_request && !options_.softmax)
      return Refusal{Placed::kSoftmax,
                     node.op_type + " stays in float unless asked for (softmax option)",
                     std::string(rule->clause)};
    return std::nullopt;
  }

  /// The first output that is not left out; invalid where all are.
  static ValueId made_by(const Node& node) {
    const auto found = std::find_if(node.outputs.begin(), node.outputs.end(),
                                    [](ValueId id) { return id.valid(); });
    return found == node.outputs.end() ? ValueId() : *found;
  }

  /// Of layers that have Q/DQ on both sides: the Q of the file on one says that both are done.
  bool is_done_behind(const Node& node, const PlacementRule& rule) const {
    return rule.treatment != Treatment::kProduct && rule.treatment != Treatment::kResidual &&
           goes_into_codes(node.output(0));
  }

  /// Why a node with a product's rule is none.
  std::optional<Refusal> no_product(const Node& node, const QuantTrait& t) const {
    if (t.kind != QuantTrait::Kind::kWeighted && t.kind != QuantTrait::Kind::kProduct)
      return Refusal{Placed::kNoProduct,
                     t.reason.empty() ? "not a product of two tensors" : t.reason, ""};
    const Tensor* w = t.weight ? graph_.constant(node.input(*t.weight)) : nullptr;
    if (t.weight && (w == nullptr || w->type() != DType::kFloat32))
      return Refusal{Placed::kWeightNotF32, "its weight is not an f32 constant", ""};
    if (!t.weight && (node.is("Conv") || node.is("ConvTranspose")))
      return Refusal{Placed::kWeightNotConstant, "its weight is computed, not stored", ""};
    return std::nullopt;
  }

  void leads_to_codes(const Node& node) {
    for (const ValueId input : node.inputs)
      if (input.valid()) before_codes_.insert(input);
  }

  void note_wanted(const Node& node) {
    if (std::any_of(node.outputs.begin(), node.outputs.end(),
                    [&](ValueId out) { return before_codes_.contains(out); }))
      leads_to_codes(node);
    const PlacementRule* rule = placement_.rule(node);
    if (rule != nullptr && rule->treatment == Treatment::kCommutes &&
        wanted_.contains(node.output(0)))
      wanted_.insert(node.input(0));
    if (refusal(node, rule)) return;
    const bool is_product = rule->treatment == Treatment::kProduct;
    if (is_product && no_product(node, trait(node))) return;
    const NodeFormat format = node_format(options_, node);
    if (format.float_weights() || format.float_activations() || format.dynamic) return;
    std::set<ValueId>& into = format.byte_activations() ? wanted_ : foreign_;
    const bool wants = is_product || rule->on_request || wanted_.contains(node.output(0));
    if (!wants) return;
    leads_to_codes(node);
    const std::vector<size_t> inputs = trait(node).inputs;
    const auto is_constant = [&](size_t i) { return graph_.constant(node.input(i)) != nullptr; };
    // A sum with a bias stays in float, so the product before it should not end in codes.
    const bool around =
        rule->treatment == Treatment::kAround || rule->treatment == Treatment::kSummed;
    if (around && std::any_of(inputs.begin(), inputs.end(), is_constant)) return;
    for (const size_t i : inputs)
      if (!is_constant(i)) into.insert(node.input(i));
  }

  NodePlan decide(const Node& node) {
    NodePlan plan;
    plan.node = node.name;
    plan.op = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
    const PlacementRule* rule = placement_.rule(node);
    if (options_.embeddings && node.is("Gather") &&
        pattern_verdict(options_, node) != Placed::kExcluded &&
        graph_.constant(node.input(0)) != nullptr)
      return place_embedding(graph_, placement_, options_, node, plan);
    const auto no = refusal(node, rule);
    const bool free = !no || no->rule == Placed::kNoRule || no->rule == Placed::kFloat;
    if (free && node.is("LSTM") && node_format(options_, node).dynamic)
      return place_dynamic_lstm(graph_, placement_, options_, node, plan);
    if (no) {
      plan.rule = no->rule;
      plan.why = no->why;
      plan.clause = no->clause;
      if (no->rule == Placed::kCommutes && upstream_.contains(node.input(0)))
        upstream_.insert(node.output(0));
      return plan;
    }
    plan.clause = rule->clause;
    plan.why = rule->why;
    switch (rule->treatment) {
    case Treatment::kProduct:
      product(node, *rule, plan);
      break;
    case Treatment::kAround:
    case Treatment::kSummed:
      around(node, *rule, plan);
      break;
    case Treatment::kResidual:
      residual(node, plan);
      break;
    case Treatment::kMoves:
      moves(node, plan);
      break;
    case Treatment::kAbsorbed:
      absorbed(node, plan);
      break;
    case Treatment::kFloat:
    case Treatment::kCommutes:
      break;
    }
    if (plan.output) integer_.insert(node.output(0));
    return plan;
  }

  /// The Relu or Clip that alone reads the output and will be absorbed, or null.
  const Node* clamp_after(const Node& node) const {
    const NodeId next = uses_.single_consumer(node.output(0));
    if (!next.valid()) return nullptr;
    const Node& clamp = graph_.node(next);
    const PlacementRule* rule = placement_.rule(clamp);
    const bool absorbs = rule != nullptr && rule->treatment == Treatment::kAbsorbed &&
                         is_clamp(clamp) && !refusal(clamp, rule);
    return absorbs ? &clamp : nullptr;
  }

  bool works_on_codes(const Node& node) const {
    const bool codes = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
      return id.valid() && is_byte(graph_.value(id).type.type);
    });
    return codes && trait(node).kind == QuantTrait::Kind::kNone;
  }

  /// Whether a Q of the file takes the value.
  bool goes_into_codes(ValueId value) const {
    const auto uses = uses_.of(value);
    return std::any_of(uses.begin(), uses.end(),
                       [&](const Uses::Use& use) { return is_quantize(graph_.node(use.node)); });
  }

  /// What is read of the node: its output, or that of the clamp that will be absorbed.
  ValueId read_of(const Node& node) const {
    const Node* clamp = clamp_after(node);
    return (clamp != nullptr ? *clamp : node).output(0);
  }

  /// Whether the floats of one example stay in a cache, so that they cost no more than codes.
  bool is_small(ValueId value) const {
    constexpr int64_t kMost = int64_t{1} << 17;
    const TypeInfo& type = graph_.value(value).type;
    if (!type.has_rank() || type.rank() == 0) return false;
    int64_t count = 1;
    for (size_t axis = 1; axis < type.shape->size(); ++axis) {
      const auto size = (*type.shape)[axis].maybe_value();
      if (!size || *size > kMost) return false;
      count = std::min(count * *size, kMost + 1);
    }
    return count <= kMost;
  }

  /// Whether Q goes after the node or after its clamp.
  bool ends_in_codes(const Node& node, OutputCodes rule) const {
    if (rule == OutputCodes::kNever) return false;
    const ValueId read = read_of(node);
    if (foreign_.contains(read)) return false; // codes of another format come in front of readers
    if (rule == OutputCodes::kWhenRead && !wanted_.contains(read)) return false;
    return !goes_into_codes(read);
  }

  /// Whether Q goes after the node, after its clamp (noted for later), or nowhere.
  bool output_here(const Node& node, OutputCodes rule) {
    if (!ends_in_codes(node, rule)) return false;
    const Node* clamp = clamp_after(node);
    if (clamp == nullptr) return true;
    clamped_.insert(clamp->id);
    return false;
  }

  /// The Add whose other side a product might add to its sums; null: there is none.
  const Node* sum_of(const Node& node) const {
    if (!node.is("Conv") && !node.is("Gemm")) return nullptr;
    const NodeId next = uses_.single_consumer(node.output(0));
    if (!next.valid()) return nullptr;
    const Node& add = graph_.node(next);
    const PlacementRule* rule = placement_.rule(add);
    if (rule == nullptr || rule->treatment != Treatment::kSummed || refusal(add, rule) ||
        add.inputs.size() != 2 || !wanted_.contains(add.output(0)))
      return nullptr;
    return &add;
  }

  /// Places in `order` in which nodes are decided: such a product last of what its Add waits for, so
  /// that the other side is in codes by then, wherever the file has it.
  std::vector<size_t> deciding_order(const std::vector<NodeId>& order) const {
    std::map<NodeId, std::vector<size_t>> waiting; // by Add
    std::vector<size_t> out;
    for (size_t i = 0; i < order.size(); ++i) {
      if (const Node* add = sum_of(graph_.node(order[i]))) {
        waiting[add->id].push_back(i);
        continue;
      }
      if (const auto found = waiting.find(order[i]); found != waiting.end())
        out.insert(out.end(), found->second.begin(), found->second.end());
      out.push_back(i);
    }
    return out;
  }

  /// Whether the product adds codes, which are there already, to its sums: what it hands to the Add
  /// behind it stays as it is.
  bool is_summed(const Node& node) const {
    const Node* add = sum_of(node);
    if (add == nullptr) return false;
    const ValueId y = node.output(0);
    const ValueId other = add->input(0) == y ? add->input(1) : add->input(0);
    return (integer_.contains(other) || read_in_codes_.contains(other)) &&
           same_type(graph_.value(y).type, graph_.value(other).type);
  }

  /// The terms of the sums of a matrix product with so few of them that it computes in float.
  std::optional<int64_t>
  few_terms(const Node& node, const QuantTrait& t, const PlacementRule& rule) const {
    const NodeFormat format = node_format(options_, node);
    if (!t.weight || !format.byte_weights() || !format.byte_activations()) return std::nullopt;
    const Tensor& w = *graph_.constant(node.input(*t.weight));
    if (w.rank() < 2 || (t.weight_only && w.rank() > 2) || w.count() == 0) return std::nullopt;
    const int64_t last = w.rank() - 1;
    const int64_t axis = t.weight_axis < 0 ? t.weight_axis + w.rank() : t.weight_axis;
    const int64_t terms = w.dim(axis == last ? last - 1 : last);
    if (t.weight_only && w.dim(axis) < kManySums) return std::nullopt;
    const ValueId read = read_of(node);
    const bool in_codes = read.valid() && (ends_in_codes(node, rule.output) ||
                                           goes_into_codes(read) || is_summed(node));
    return terms > placement_.few_terms || in_codes ? std::nullopt : std::optional(terms);
  }

  void product(const Node& node, const PlacementRule& rule, NodePlan& plan) {
    const QuantTrait t = trait(node);
    const auto refuse = [&](Placed decided, std::string why) {
      plan.rule = decided;
      plan.why = std::move(why);
      plan.clause.clear();
    };
    if (const auto no = no_product(node, t)) return refuse(no->rule, no->why);
    if (t.weight) plan.weight = static_cast<int64_t>(*t.weight);
    const NodeFormat format = node_format(options_, node);
    if (format.float_weights() || (format.float_activations() && !t.weight)) {
      plan.weight.reset();
      return refuse(Placed::kExcluded, "it stays float by its format");
    }
    if (!t.weight_only && (format.float_activations() || format.dynamic)) {
      plan.weight.reset();
      return refuse(Placed::kFloat, format.dynamic ? "it has no dynamic form"
                                                   : "its weights are in codes only where x is");
    }
    if (format.float_activations()) {
      plan = place_weight_only(format, {}, std::move(plan));
      return;
    }
    if (const auto terms = few_terms(node, t, rule)) {
      const std::string why = fmt::format("sums of {} products cost less in float", *terms);
      if (t.weight_only) {
        plan = place_weight_only(format, why, std::move(plan));
        return;
      }
      plan.weight.reset();
      return refuse(Placed::kFloat, why);
    }
    if (format.dynamic && t.weight) {
      const Tensor& w = *graph_.constant(node.input(*t.weight));
      plan = place_dynamic(placement_, options_, node, w, std::move(plan));
      return;
    }
    for (const size_t i : t.inputs) {
      if (graph_.constant(node.input(i)) != nullptr || !is_float32(node.input(i)))
        return refuse(Placed::kConstantInput, "an activation input is constant or not f32");
      plan.inputs.push_back(static_cast<int64_t>(i));
    }
    plan.quantized = true;
    plan.rule = t.weight ? Placed::kProduct : Placed::kProductOfActivations;
    if (!format.byte_activations() || (t.weight && !format.byte_weights())) {
      const std::string x =
          name(format.activations.value_or(NumberFormat{placement_.activation.type}));
      plan.why = t.weight ? fmt::format("{} activations and {} weights", x,
                                        name(format.weights.value_or(NumberFormat{})))
                          : fmt::format("two activations in {}", x);
      plan.clause.clear();
      return; // in codes that no int32 sum holds, the output is float
    }
    for (const int64_t i : plan.inputs)
      read_in_codes_.insert(node.input(static_cast<size_t>(i)));
    const bool summed = is_summed(node);
    if (summed) summed_.insert(node.output(0));
    const bool costly =
        rule.output == OutputCodes::kUnlessCostly && float_outputs_.contains(node.name);
    const bool last = rule.output == OutputCodes::kUnlessCostly &&
                      !before_codes_.contains(read_of(node)) && is_small(node.output(0));
    if (costly) plan.why += fmt::format("; {}", kWhyFloatOutput);
    if (last) plan.why += "; no product is computed of its output, which is float";
    plan.output = !summed && !costly && !last && output_here(node, rule.output);
    upstream_.insert(made_by(node));
    const bool gemm = placement_.int32_gemm_bias && node.is("Gemm") && !plan.output &&
                      clamp_after(node) == nullptr;
    if (t.bias && node.input(*t.bias).valid() && (!placement_.float_bias || gemm)) {
      const Tensor* bias = graph_.constant(node.input(*t.bias));
      plan.int32_bias = bias != nullptr && bias->type() == DType::kFloat32;
    }
  }

  void around(const Node& node, const PlacementRule& rule, NodePlan& plan) {
    plan.rule = Placed::kAround;
    const QuantTrait t = trait(node);
    std::vector<size_t> inputs = t.inputs;
    if (inputs.empty()) inputs = {0};
    for (const size_t i : inputs) {
      const ValueId in = node.input(i);
      if (!in.valid() || summed_.contains(in)) continue;
      const bool summed_in_codes =
          rule.treatment == Treatment::kSummed && read_in_codes_.contains(in);
      const bool codes = summed_in_codes || (placement_.symmetric_only ? upstream_.contains(in)
                                                                       : integer_.contains(in));
      if (graph_.constant(in) != nullptr)
        return stay_float(plan, "an input is constant: in float it costs less than in codes");
      if (foreign_.contains(in))
        return stay_float(plan, fmt::format("its input \"{}\" is in another format for a product",
                                            graph_.value(in).name));
      if (!codes && !rule.on_request)
        return stay_float(
            plan, fmt::format("its input \"{}\" is not in codes already", graph_.value(in).name));
      plan.inputs.push_back(static_cast<int64_t>(i));
    }
    if (!wanted_.contains(node.output(0)) && !rule.on_request)
      return stay_float(plan, "nothing after it reads codes");
    plan.quantized = true;
    plan.output = rule.output == OutputCodes::kBehindClamp
                      ? output_here(node, rule.output)
                      : rule.output == OutputCodes::kAlways || rule.on_request;
    upstream_.insert(node.output(0));
  }

  void residual(const Node& node, NodePlan& plan) {
    plan.rule = Placed::kResidual;
    if (node.inputs.size() != 2 || graph_.constant(node.input(0)) != nullptr ||
        graph_.constant(node.input(1)) != nullptr)
      return stay_float(plan, "not a sum of two activations");
    if (!upstream_.contains(node.input(0)) && !upstream_.contains(node.input(1)))
      return stay_float(plan, "neither side comes from an integer product");
    const auto uses = uses_.of(node.output(0));
    if (std::any_of(uses.begin(), uses.end(),
                    [&](const Uses::Use& use) { return graph_.node(use.node).is("Softmax"); })) {
      plan.clause = "2.3, 2.4";
      return stay_float(plan, "it adds an attention mask: Q/DQ there breaks the fused attention");
    }
    const size_t shortcut = depth(node.input(0)) <= depth(node.input(1)) ? 0 : 1;
    if (foreign_.contains(node.input(shortcut)))
      return stay_float(plan, "its shortcut is in another format for a product");
    plan.quantized = true;
    plan.inputs = {static_cast<int64_t>(shortcut)};
    upstream_.insert(node.output(0));
  }

  void moves(const Node& node, NodePlan& plan) {
    plan.rule = Placed::kMoves;
    if (!integer_.contains(node.input(0)))
      return stay_float(plan, "its input is not in codes already");
    if (!wanted_.contains(node.output(0))) return stay_float(plan, "nothing after it reads codes");
    plan.quantized = true;
    plan.inputs = {0};
    plan.output = true;
  }

  void absorbed(const Node& node, NodePlan& plan) {
    plan.rule = Placed::kAbsorbed;
    if (clamped_.contains(node.id)) {
      plan.quantized = true;
      plan.output = true;
      upstream_.insert(node.output(0));
      return;
    }
    if (upstream_.contains(node.input(0))) upstream_.insert(node.output(0));
    stay_float(plan, "its producer's output is not quantized, so it runs in float");
  }

  static void stay_float(NodePlan& plan, std::string why) {
    plan.quantized = false;
    plan.inputs.clear();
    plan.why = std::move(why);
  }

  /// Longest way from a graph input or constant, counted in nodes.
  int depth(ValueId id) {
    const auto found = depths_.find(id);
    if (found != depths_.end()) return found->second;
    if (depths_.empty()) {
      const auto order = graph_.topological();
      for (const NodeId n : order.ok() ? *order : std::vector<NodeId>{}) {
        int deepest = 0;
        for (const ValueId in : graph_.node(n).inputs)
          if (depths_.contains(in)) deepest = std::max(deepest, depths_[in]);
        for (const ValueId out : graph_.node(n).outputs)
          depths_[out] = deepest + 1;
      }
    }
    return depths_.contains(id) ? depths_[id] : 0;
  }

  const Graph& graph_;
  const Placement& placement_;
  const QuantizeOptions& options_;
  const std::set<std::string>& in_float_;
  const std::set<std::string>& float_outputs_;
  Uses uses_;
  std::set<ValueId> wanted_;        ///< some integer node reads it, if it gets the chance
  std::set<ValueId> before_codes_;  ///< a product may be computed of it, also by way of floats
  std::set<ValueId> foreign_;       ///< some product reads it in codes that are no bytes
  std::set<ValueId> integer_;       ///< quantized at its producer
  std::set<ValueId> read_in_codes_; ///< bytes of it are made for a product
  std::set<ValueId> upstream_;      ///< made by an integer node, perhaps moved or clamped since
  std::set<ValueId> summed_;        ///< sums of a product that it adds codes to
  std::set<NodeId> clamped_;        ///< clamps that Q absorbs
  std::map<ValueId, int> depths_;
};

} // namespace

std::string_view in_codes_already(const Graph& graph, const Node& node) {
  if (is_quantize(node) || is_dequantize(node)) return "the file has it";
  for (const ValueId id : node.inputs) {
    if (!id.valid()) continue;
    const Node* producer = graph.producer(id);
    if (producer != nullptr && is_dequantize(*producer)) return "it reads what DQ makes of codes";
  }
  return {};
}

const PlacementRule* Placement::rule(const Node& node) const {
  return node.domain.empty() ? rule(node.op_type) : nullptr;
}

const PlacementRule* Placement::rule(std::string_view op) const {
  const auto found =
      std::find_if(rules.begin(), rules.end(), [&](const PlacementRule& r) { return r.op == op; });
  return found == rules.end() ? nullptr : &*found;
}

Result<std::vector<NodePlan>> place(const Graph& graph,
                                    const Placement& placement,
                                    const QuantizeOptions& options,
                                    const std::set<std::string>& in_float,
                                    const std::set<std::string>& float_outputs) {
  if (placement.place != nullptr) return placement.place(graph, placement, options, in_float);
  return Placer(graph, placement, options, in_float, float_outputs).run();
}

} // namespace octet

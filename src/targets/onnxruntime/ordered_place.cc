// SPDX-License-Identifier: Apache-2.0
// Placement for ONNX Runtime's CUDA provider: the layers of encoders that have a QOrdered operator,
// as far as each reads or makes codes for another one. What no such layer reads is not rounded to 8
// bits: poolers and classifiers stay in float.
#include "targets/onnxruntime/ordered_place.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/format.h"
#include "targets/onnxruntime/ordered.h"

namespace octet {

namespace {

constexpr std::string_view kClause = "4.4";

/// One layer: what it reads and makes, and the nodes that it takes the place of.
struct OrderedGroup {
  enum class Kind : uint8_t { kProduct, kGelu, kNorm, kAttention } kind = Kind::kProduct;
  std::vector<const Node*> nodes;
  std::vector<ValueId> reads; ///< activations
  ValueId makes;              ///< invalid: inside of the attention and its product
  std::string why_not;        ///< empty: it is in codes
  Placed rule = Placed::kFloat;

  bool in_codes() const { return why_not.empty(); }
};

class OrderedPlacer {
 public:
  OrderedPlacer(const Graph& graph,
                const Placement& placement,
                const QuantizeOptions& options,
                const std::set<std::string>& in_float)
      : graph_(graph), placement_(placement), options_(options), in_float_(in_float), uses_(graph),
        layers_(graph, uses_, Between::kNothing) {}

  Result<std::vector<NodePlan>> run() {
    OCTET_TRY(check_patterns(graph_, options_));
    const std::vector<NodeId> order = OCTET_TRY(graph_.topological());
    for (const NodeId id : order)
      find_attention(graph_.node(id));
    for (const NodeId id : order)
      find_others(graph_.node(id));
    for (OrderedGroup& group : groups_)
      refuse_by_options(group);
    while (drop_some()) {
    }
    for (const NodeId id : order)
      plan_of(graph_.node(id));
    for (const OrderedGroup& group : groups_)
      write(group);
    std::vector<NodePlan> out;
    out.reserve(order.size());
    for (const NodeId id : order)
      out.push_back(std::move(plans_.at(id)));
    return out;
  }

 private:
  using Kind = OrderedGroup::Kind;

  void add(OrderedGroup group) {
    for (const Node* node : group.nodes)
      group_of_[node->id] = groups_.size();
    if (group.makes.valid()) maker_[group.makes] = groups_.size();
    groups_.push_back(std::move(group));
  }

  static OrderedGroup product_group(const OrderedProduct& p) {
    OrderedGroup out{Kind::kProduct, p.nodes(), {}, p.y.real, {}};
    if (p.x.real.valid()) out.reads.push_back(p.x.real);
    if (p.sum != nullptr) out.reads.push_back(p.residual.real);
    return out;
  }

  void find_attention(const Node& node) {
    if (!node.is("Softmax")) return;
    const Matched<OrderedAttention> found = layers_.attention(node);
    if (!found) {
      why_not_[node.id] = found.why;
      return;
    }
    attentions_.push_back({groups_.size(), groups_.size() + 1, found->norm->id, false});
    add({Kind::kAttention, found->nodes(), {found->x.real}, {}, {}});
    add(product_group(found->projection));
  }

  void find_others(const Node& node) {
    if (group_of_.contains(node.id)) return;
    if (node.is("MatMul")) {
      const Matched<OrderedProduct> found = layers_.product(node);
      if (found)
        add(product_group(*found));
      else
        why_not_[node.id] = found.why;
    } else if (node.is("Erf") || node.op_type == "Gelu") {
      const Matched<OrderedGelu> found = layers_.gelu(node);
      if (found)
        add({Kind::kGelu, found->nodes, {found->x.real}, found->y.real, {}});
      else
        why_not_[node.id] = found.why;
    } else if (node.is("LayerNormalization")) {
      const Matched<OrderedNorm> found = layers_.norm(node);
      if (found)
        add({Kind::kNorm, {&node}, {found->x.real}, found->y.real, {}});
      else
        why_not_[node.id] = found.why;
    }
  }

  void refuse_by_options(OrderedGroup& group) const {
    const auto refuse = [&](Placed rule, std::string why) {
      group.rule = rule;
      group.why_not = std::move(why);
    };
    bool included = false;
    for (const Node* node : group.nodes) {
      const auto verdict = pattern_verdict(options_, *node);
      included = included || !verdict;
      if (verdict == Placed::kExcluded) return refuse(*verdict, "excluded by pattern");
      if (in_float_.contains(node->name))
        return refuse(Placed::kCostsAccuracy, std::string(kWhyInFloat));
      const NodeFormat format = node_format(options_, *node);
      if (format.float_weights() || format.float_activations())
        return refuse(Placed::kExcluded, "it stays float by its format");
      if (!format.byte_weights() || !format.byte_activations() || format.dynamic)
        return refuse(Placed::kFloat, "the kernel takes int8 with ranges that are known");
    }
    if (!included) refuse(Placed::kNotIncluded, "no include pattern names it");
  }

  template <class If>
  bool is_read(ValueId value, If counts) const {
    return std::any_of(groups_.begin(), groups_.end(), [&](const OrderedGroup& group) {
      return counts(group) &&
             std::find(group.reads.begin(), group.reads.end(), value) != group.reads.end();
    });
  }
  bool reads_codes(ValueId value) const {
    return is_read(value, [](const OrderedGroup& group) { return group.in_codes(); });
  }
  bool made_in_codes(ValueId value) const {
    const auto found = maker_.find(value);
    return found != maker_.end() && groups_[found->second].in_codes();
  }

  /// Whether one more group turned out to stay in float.
  bool drop_some() {
    for (Attention& a : attentions_) {
      if (a.alone) continue;
      const auto norm = group_of_.find(a.norm);
      const bool follows = groups_[a.projection].in_codes() && norm != group_of_.end() &&
                           groups_[norm->second].in_codes();
      OrderedGroup& attention = groups_[a.attention];
      if (attention.in_codes() && follows) continue;
      if (attention.in_codes())
        attention.why_not = "the product and the LayerNormalization behind it are not in codes";
      make_alone(groups_[a.projection]);
      return a.alone = true;
    }
    for (OrderedGroup& group : groups_)
      if (group.in_codes() && group.kind != Kind::kAttention) {
        group.why_not = why_drop(group);
        if (!group.in_codes()) return true;
      }
    return false;
  }

  /// A product behind an attention in float reads what that joins.
  void make_alone(OrderedGroup& projection) {
    if (!projection.in_codes()) return;
    const Matched<OrderedProduct> found = layers_.product(*projection.nodes.front());
    if (found)
      projection.reads = product_group(*found).reads;
    else
      projection.why_not = found.why;
  }

  std::string why_drop(const OrderedGroup& group) const {
    if (group.kind != Kind::kProduct && !made_in_codes(group.reads.front()))
      return "what it reads comes from no layer in codes";
    constexpr std::string_view kRounded =
        "no layer behind it reads codes, and its result would be rounded to them";
    // A sum in codes goes into a normalization in float, too; what a Gelu makes does not.
    const auto multiplies = [](const OrderedGroup& g) {
      return g.in_codes() && g.kind != Kind::kNorm;
    };
    if (group.kind == Kind::kGelu && !is_read(group.makes, multiplies))
      return std::string(kRounded);
    const auto any = [](const OrderedGroup&) { return true; };
    if (group.kind == Kind::kProduct && !is_read(group.makes, any)) return std::string(kRounded);
    return {};
  }

  void plan_of(const Node& node) {
    NodePlan& plan = plans_[node.id];
    plan.node = node.name;
    plan.op = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
    const auto why = why_not_.find(node.id);
    const auto verdict = pattern_verdict(options_, node);
    if (options_.embeddings && node.is("Gather") && verdict != Placed::kExcluded &&
        graph_.constant(node.input(0)) != nullptr) {
      plan = place_embedding(graph_, placement_, options_, node, std::move(plan));
    } else if (const std::string_view already = in_codes_already(graph_, node); !already.empty()) {
      plan.rule = Placed::kInCodes;
      plan.why = already;
    } else if (verdict) {
      plan.rule = *verdict;
      plan.why =
          verdict == Placed::kExcluded ? "excluded by pattern" : "no include pattern names it";
    } else {
      plan.rule = why != why_not_.end() ? Placed::kFloat : Placed::kNoRule;
      plan.why = why != why_not_.end() ? why->second : std::string(placement_.otherwise);
      plan.clause = kClause;
    }
  }

  void write(const OrderedGroup& group) {
    for (const Node* node : group.nodes) {
      NodePlan& plan = plans_.at(node->id);
      plan.clause = group.in_codes() || group.rule == Placed::kFloat ? kClause : "";
      plan.inputs.clear();
      plan.quantized = group.in_codes();
      plan.rule = group.rule;
      plan.why = group.why_not;
      if (!group.in_codes()) continue;
      plan.rule = Placed::kAround;
      plan.why = fmt::format("becomes part of {}", name_of_form(group.kind));
      for (size_t i = 0; i < node->inputs.size(); ++i)
        if (std::find(group.reads.begin(), group.reads.end(), node->inputs[i]) != group.reads.end())
          plan.inputs.push_back(static_cast<int64_t>(i));
      if (node->is("MatMul")) write_product(*node, plan);
      if (group.kind == Kind::kProduct && group.nodes.size() == 3 && node == group.nodes.back())
        plan.rule = Placed::kResidual;
      plan.output = makes_codes(group, *node);
    }
  }

  void write_product(const Node& node, NodePlan& plan) const {
    const bool stored = graph_.constant(node.input(1)) != nullptr;
    plan.rule = stored ? Placed::kProduct : Placed::kProductOfActivations;
    if (stored) plan.weight = 1;
  }

  /// By the codes of its normalization the optimizer knows an attention.
  bool is_behind_attention(const Node& norm) const {
    return std::any_of(attentions_.begin(), attentions_.end(), [&](const Attention& a) {
      return a.norm == norm.id && groups_[a.attention].in_codes();
    });
  }

  /// Inside of an attention: biased queries, keys and values, scores, shares, mixed values.
  bool makes_codes(const OrderedGroup& group, const Node& node) const {
    if (group.kind != Kind::kAttention)
      return node.output(0) == group.makes &&
             (group.kind != Kind::kNorm || reads_codes(group.makes) || is_behind_attention(node));
    if (node.is("Softmax")) return true;
    if (node.is("MatMul")) return graph_.constant(node.input(1)) == nullptr;
    return node.is("Add") && std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId in) {
             return graph_.constant(in) != nullptr;
           });
  }

  static std::string_view name_of_form(Kind kind) {
    switch (kind) {
    case Kind::kGelu:
      return "QOrderedGelu";
    case Kind::kNorm:
      return "QOrderedLayerNormalization";
    case Kind::kAttention:
      return "QOrderedAttention";
    case Kind::kProduct:
      break;
    }
    return "QOrderedMatMul";
  }

  struct Attention {
    size_t attention, projection; ///< groups
    NodeId norm;
    bool alone = false; ///< it is in float, and the product behind it was told
  };

  const Graph& graph_;
  const Placement& placement_;
  const QuantizeOptions& options_;
  const std::set<std::string>& in_float_;
  const Uses uses_;
  const OrderedLayers layers_;
  std::vector<OrderedGroup> groups_;
  std::vector<Attention> attentions_;
  std::map<NodeId, size_t> group_of_;
  std::map<ValueId, size_t> maker_;
  std::map<NodeId, std::string> why_not_;
  std::map<NodeId, NodePlan> plans_;
};

} // namespace

Result<std::vector<NodePlan>> place_ordered(const Graph& graph,
                                            const Placement& placement,
                                            const QuantizeOptions& options,
                                            const std::set<std::string>& in_float) {
  return OrderedPlacer(graph, placement, options, in_float).run();
}

} // namespace octet

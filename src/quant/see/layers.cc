// SPDX-License-Identifier: Apache-2.0
#include "quant/see/layers.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "quant/dynamic_lstm.h"
#include "quant/steps/step.h"

namespace octet {

namespace {

constexpr std::string_view kSameRange = "same as ";

/// A plan's entries by what they make.
class Entries {
 public:
  Entries(const Graph& graph, const QuantizationPlan& plan) : graph_(graph), plan_(plan) {
    std::unordered_map<std::string_view, NodeId> ids;
    for (const NodeId id : graph.nodes())
      ids.emplace(graph.node(id).name, id);
    for (size_t i = 0; i < plan.nodes.size(); ++i) {
      const auto found = ids.find(plan.nodes[i].node);
      nodes_.push_back(found != ids.end() ? &graph.node(found->second) : nullptr);
      if (nodes_.back() != nullptr) by_node_.emplace(found->second, i);
    }
  }

  const Node* node(size_t entry) const { return nodes_[entry]; }
  std::optional<size_t> maker(ValueId value) const {
    const Node* producer = value.valid() ? graph_.producer(value) : nullptr;
    const auto found = producer != nullptr ? by_node_.find(producer->id) : by_node_.end();
    return found == by_node_.end() ? std::nullopt : std::optional(found->second);
  }
  /// The entry whose Q an input is read through; none: the reader's own.
  std::optional<size_t> writer(size_t reader, int64_t input) const {
    const auto made = maker(nodes_[reader]->input(static_cast<size_t>(input)));
    return made && plan_.nodes[*made].quantized && plan_.nodes[*made].output ? made : std::nullopt;
  }
  /// The entry whose layer this one is part of.
  size_t root(size_t entry) const {
    const NodePlan& plan = plan_.nodes[entry];
    const Node* node = nodes_[entry];
    if (node == nullptr || !plan.quantized || plan.weight) return entry;
    const bool moved = plan.rule == Placed::kMoves && moves_range(*node);
    if (!moved && plan.rule != Placed::kAbsorbed) return entry;
    const auto before = maker(node->input(0));
    return before && plan_.nodes[*before].quantized ? root(*before) : entry;
  }

 private:
  bool moves_range(const Node& node) const {
    const TensorPlan* out = plan_.tensor(graph_.value(node.output(0)).name);
    return out == nullptr || std::string_view(out->algorithm).starts_with(kSameRange);
  }

  const Graph& graph_;
  const QuantizationPlan& plan_;
  std::vector<const Node*> nodes_;
  std::map<NodeId, size_t> by_node_;
};

void clear(NodePlan& plan, Placed rule, std::string why) {
  plan.quantized = plan.output = plan.int32_bias = false;
  plan.inputs.clear();
  plan.weight.reset();
  plan.rule = rule;
  plan.why = std::move(why);
}

/// Steps behind ranges that change nodes of the plan which are in float now; those that were fitted
/// behind them stay.
void drop_steps_of(const Graph& prepared,
                   QuantizationPlan& plan,
                   const std::set<std::string>& in_float) {
  std::set<std::string> gone;
  for (const PlanStep& step : plan.steps)
    if (const Node* product = changed_product(prepared, step.kind);
        product != nullptr && in_float.contains(product->name))
      gone.insert(step.id);
  std::erase_if(plan.steps, [&](const PlanStep& step) { return gone.contains(step.id); });
  for (PlanStep& step : plan.steps)
    std::erase_if(step.needs, [&](const std::string& need) { return gone.contains(need); });
}

} // namespace

std::vector<QuantizedLayer> layers_of(const Graph& prepared, const QuantizationPlan& plan) {
  const Entries entries(prepared, plan);
  std::map<size_t, QuantizedLayer> layers;
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    const NodePlan& entry = plan.nodes[i];
    const Node* node = entries.node(i);
    if (!entry.quantized || node == nullptr) continue;
    const size_t root = entries.root(i);
    QuantizedLayer& layer = layers[root];
    layer.node = plan.nodes[root].node;
    layer.nodes.push_back(i);
    const auto add = [&](std::vector<std::string>& to, ValueId value) {
      const std::string& name = prepared.value(value).name;
      if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
    };
    for (const int64_t input : entry.inputs)
      if (!entries.writer(i, input))
        add(layer.activations, node->input(static_cast<size_t>(input)));
    if (entry.output) add(layer.activations, node->output(0));
    for (const size_t input : weight_inputs(entry))
      add(layer.weights, node->input(input));
  }
  std::vector<QuantizedLayer> out;
  for (auto& [root, layer] : layers)
    if (!layer.activations.empty() || !layer.weights.empty()) out.push_back(std::move(layer));
  return out;
}

QuantizationPlan
with_layer_alone(const Graph& prepared, const QuantizationPlan& plan, const QuantizedLayer& layer) {
  const Entries entries(prepared, plan);
  const std::set<size_t> own(layer.nodes.begin(), layer.nodes.end());
  QuantizationPlan out = plan;
  std::set<std::string> in_float;
  for (size_t i = 0; i < out.nodes.size(); ++i) {
    if (!own.contains(i)) {
      in_float.insert(out.nodes[i].node);
      if (out.nodes[i].quantized)
        clear(out.nodes[i], Placed::kNotIncluded, "another layer is looked at");
      continue;
    }
    const size_t before = out.nodes[i].inputs.size();
    if (plan.mode == QuantMode::kStatic)
      std::erase_if(out.nodes[i].inputs, [&](int64_t input) {
        const auto writer = entries.writer(i, input);
        return writer && !own.contains(*writer);
      });
    if (out.nodes[i].inputs.size() < before) out.nodes[i].int32_bias = false;
  }
  drop_steps_of(prepared, out, in_float);
  return out;
}

QuantizationPlan with_layer_in_float(const Graph& prepared,
                                     const QuantizationPlan& plan,
                                     const QuantizedLayer& layer) {
  QuantizationPlan out = plan;
  std::set<std::string> in_float;
  for (const size_t i : layer.nodes) {
    clear(out.nodes[i], Placed::kCostsAccuracy, "measured: float is better for the outputs");
    in_float.insert(out.nodes[i].node);
  }
  const Entries entries(prepared, out);
  for (bool changed = true; changed;) {
    changed = false;
    std::set<ValueId> read; ///< in codes
    for (size_t i = 0; i < out.nodes.size(); ++i)
      for (const int64_t input : out.nodes[i].inputs)
        read.insert(entries.node(i)->input(static_cast<size_t>(input)));
    for (size_t i = 0; i < out.nodes.size(); ++i) {
      NodePlan& entry = out.nodes[i];
      if (!entry.output || entries.node(i) == nullptr) continue;
      const ValueId made = entries.node(i)->output(0);
      if (read.contains(made) || prepared.is_output(made)) continue;
      entry.output = false;
      changed = true;
      if (entry.rule == Placed::kMoves || entry.rule == Placed::kAbsorbed ||
          entry.rule == Placed::kAround)
        clear(entry, Placed::kCostsAccuracy, "nobody reads its codes");
    }
  }
  drop_steps_of(prepared, out, in_float);
  return out;
}

void set_range(QuantizationPlan& plan,
               const std::string& value,
               const Range& range,
               std::string_view algorithm) {
  std::set<std::string> given = {value};
  for (TensorPlan& tensor : plan.tensors) {
    const std::string_view from = tensor.algorithm;
    if (tensor.value == value) {
      tensor.algorithm = algorithm;
    } else if (!from.starts_with(kSameRange) ||
               !given.contains(std::string(from.substr(kSameRange.size())))) {
      continue;
    }
    tensor.ranges = {range};
    given.insert(tensor.value);
  }
}

} // namespace octet

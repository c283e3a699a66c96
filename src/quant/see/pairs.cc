// SPDX-License-Identifier: Apache-2.0
#include "quant/see/pairs.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "core/format.h"
#include "core/string_util.h"
#include "graph/node_names.h"
#include "ops/evaluate.h"
#include "ops/qdq/clamp.h"
#include "ops/qdq/site.h"

namespace octet {

namespace {

/// What Q, DQ and a Clip of codes hide.
struct Coded {
  ValueId real;  ///< that Q reads; invalid: the codes are constant
  ValueId codes; ///< that DQ reads
  const Node* clamp = nullptr;
};

/// Of what a DQ makes; nullopt for other values.
std::optional<Coded> coded(const Graph& graph, ValueId value) {
  const Node* dequantize = value.valid() ? graph.producer(value) : nullptr;
  if (dequantize == nullptr || !is_dequantize(*dequantize)) return std::nullopt;
  Coded out{{}, dequantize->input(0), nullptr};
  if (graph.constant(out.codes) != nullptr) return out;
  const Node* maker = graph.producer(out.codes);
  if (maker != nullptr && qdq::clamps_codes(graph, *maker)) {
    out.clamp = maker;
    maker = graph.producer(maker->input(0));
  }
  if (maker == nullptr || !is_quantize(*maker)) return std::nullopt;
  out.real = maker->input(0);
  return out;
}

/// The value without codes.
ValueId real_of(const Graph& graph, ValueId value) {
  const auto found = coded(graph, value);
  return found && found->real.valid() ? found->real : value;
}

/// Of a type, or what a Clip lets through; of floating formats nothing.
CodeRange codes_behind(const Graph& graph, const Node* clamp, const qdq::Grid& grid) {
  const CodeRange all = grid.code_range().value_or(CodeRange{0, 0});
  const auto bounds = clamp != nullptr ? qdq::clamp_of(graph, *clamp) : std::nullopt;
  if (!bounds) return all;
  return {static_cast<int32_t>(std::clamp<double>(bounds->lo, all.lo, all.hi)),
          static_cast<int32_t>(std::clamp<double>(bounds->hi, all.lo, all.hi))};
}

/// Of the fewest bits whose codes hold these.
CodeRange codes_of_weight(const Graph& graph, const Coded& weight, const qdq::Grid& grid) {
  const CodeRange all = codes_behind(graph, weight.clamp, grid);
  if (grid.codes != DType::kInt8 || weight.clamp != nullptr) return all;
  const auto codes = constant_value(graph, weight.codes);
  if (!codes) return all;
  CodeRange met{0, 0};
  const Tensor aligned = codes->aligned();
  for (const int8_t code : aligned.data<int8_t>())
    met = {std::min(met.lo, int32_t{code}), std::max(met.hi, int32_t{code})};
  for (int32_t most = 1; most < all.hi; most = 2 * most + 1)
    if (met.lo >= -most - 1 && met.hi <= most) return {-most - 1, most};
  return met.lo < -all.hi ? all : CodeRange{-all.hi, all.hi};
}

constexpr qdq::Reading kAnyGrid{.most = qdq::Reading::Most::kAny, .written_zero = false};

class Pairing {
 public:
  Pairing(const Graph& a, const Graph& b) : a_(a), b_(b), uses_a_(a), uses_b_(b) {}

  Result<ModelPairs> run() {
    OCTET_TRY(pair_inputs());
    order_ = OCTET_TRY(b_.topological());
    pair_by_names();
    OCTET_TRY(pair_dropped_clamps());
    pair_by_readers();
    OCTET_TRY(pair_outputs());
    for (const NodeId id : OCTET_TRY(a_.topological())) {
      if (const auto found = node_of_.find(id); found != node_of_.end())
        describe(id, found->second);
      if (const auto clamp = dropped_.find(id); clamp != dropped_.end())
        out_.nodes.push_back({id, b_.producer(clamp->second)->id, {}, {}, true, false});
    }
    list_values();
    OCTET_TRY(check());
    return std::move(out_);
  }

 private:
  void join(ValueId a, ValueId b) {
    if (!a.valid() || !b.valid()) return;
    of_b_.try_emplace(b, a);
    of_a_.try_emplace(a, b);
  }
  void join_nodes(const Node& a, const Node& b) {
    node_of_.emplace(a.id, b.id);
    taken_.insert(b.id);
    for (size_t i = 0; i < std::min(a.outputs.size(), b.outputs.size()); ++i)
      join(a.outputs[i], b.outputs[i]);
  }

  Status pair_inputs() {
    const auto names = [](const Graph& graph, const std::vector<ValueId>& values) {
      std::vector<std::string> out;
      out.reserve(values.size());
      for (const ValueId id : values)
        out.push_back(graph.value(id).name);
      return out;
    };
    if (a_.inputs().size() != b_.inputs().size() || a_.outputs().size() != b_.outputs().size())
      return error("they are not the same network: inputs {} and outputs {}, beside {} and {}",
                   join_some(names(a_, a_.inputs()), 5), join_some(names(a_, a_.outputs()), 5),
                   join_some(names(b_, b_.inputs()), 5), join_some(names(b_, b_.outputs()), 5));
    for (size_t i = 0; i < a_.inputs().size(); ++i) {
      ValueId same = b_.inputs()[i];
      for (const ValueId other : b_.inputs())
        if (b_.value(other).name == a_.value(a_.inputs()[i]).name) same = other;
      const TypeInfo &one = a_.value(a_.inputs()[i]).type, &two = b_.value(same).type;
      if (one.has_rank() && two.has_rank() && one.rank() != two.rank())
        return error("they are not the same network: input \"{}\" is {}, beside {}",
                     a_.value(a_.inputs()[i]).name, one.text(), two.text());
      join(a_.inputs()[i], same);
    }
    return ok_status();
  }

  bool alike(const Node& a, const Node& b) const {
    return a.op_type == b.op_type && a.domain == b.domain && !taken_.contains(b.id) &&
           !node_of_.contains(a.id);
  }

  void pair_by_names() {
    const NodeNames in_b(b_);
    for (const NodeId id : a_.nodes()) {
      const Node& node = a_.node(id);
      if (is_qdq(node)) continue;
      const auto same = node.name.empty() ? std::nullopt : in_b.find(node.name);
      if (same && alike(node, b_.node(*same))) join_nodes(node, b_.node(*same));
    }
    for (const NodeId id : a_.nodes()) {
      const Node& node = a_.node(id);
      if (is_qdq(node) || !node.output(0).valid()) continue;
      const auto value = b_.find_value(a_.value(node.output(0)).name);
      const Node* same = value ? b_.producer(real_of(b_, *value)) : nullptr;
      if (same != nullptr && alike(node, *same)) join_nodes(node, *same);
    }
  }

  /// A Relu or Clip that Q does by itself, and that the file therefore leaves out: what it makes is
  /// what the Q reads.
  Status pair_dropped_clamps() {
    for (const NodeId id : OCTET_TRY(a_.topological())) {
      const Node& node = a_.node(id);
      if ((!node.is("Relu") && !node.is("Clip")) || node_of_.contains(id)) continue;
      const auto before = of_a_.find(node.input(0));
      if (before == of_a_.end() || b_.producer(before->second) == nullptr ||
          uses_a_.count(node.input(0)) != 1 || !only_codes(before->second))
        continue;
      const ValueId there = before->second;
      of_a_.erase(before);
      of_a_[node.output(0)] = there;
      of_b_[there] = node.output(0);
      dropped_.emplace(id, there);
    }
    return ok_status();
  }

  /// Nodes of one operator that alone read the same values.
  void pair_by_readers() {
    for (const NodeId id : order_) {
      const Node& node = b_.node(id);
      if (is_qdq(node) || taken_.contains(id)) continue;
      const Node* only = nullptr;
      int found = 0;
      for (size_t i = 0; i < node.inputs.size() && found == 0; ++i) {
        const auto a = of_b_.find(real_of(b_, node.inputs[i]));
        if (a == of_b_.end()) continue;
        for (const Uses::Use& use : uses_a_.of(a->second)) {
          const Node& candidate = a_.node(use.node);
          if (use.input != i || !alike(candidate, node) || !reads_alike(candidate, node)) continue;
          if (only != &candidate) ++found;
          only = &candidate;
        }
      }
      if (found == 1) join_nodes(*only, node);
    }
  }

  bool reads_alike(const Node& a, const Node& b) const {
    if (a.inputs.size() != b.inputs.size()) return false;
    for (size_t i = 0; i < a.inputs.size(); ++i) {
      if (a.inputs[i].valid() != b.inputs[i].valid()) return false;
      if (!a.inputs[i].valid()) continue;
      const bool constant = a_.constant(a.inputs[i]) != nullptr;
      const auto there = coded(b_, b.inputs[i]);
      const Tensor* theirs =
          b_.constant(there && !there->real.valid() ? there->codes : real_of(b_, b.inputs[i]));
      if (constant != (theirs != nullptr)) return false;
      if (constant && theirs->shape() != a_.constant(a.inputs[i])->shape()) return false;
      const auto known = of_a_.find(a.inputs[i]);
      if (!constant && (known == of_a_.end() || known->second != real_of(b_, b.inputs[i])))
        return false;
    }
    return true;
  }

  Status pair_outputs() {
    for (size_t i = 0; i < a_.outputs().size(); ++i) {
      size_t same = i;
      for (size_t k = 0; k < b_.outputs().size(); ++k)
        if (b_.value(b_.outputs()[k]).name == a_.value(a_.outputs()[i]).name) same = k;
      if (same != i)
        return error("they are not the same network: output {} is \"{}\", beside \"{}\"", i,
                     a_.value(a_.outputs()[i]).name, b_.value(b_.outputs()[i]).name);
      join(a_.outputs()[i], real_of(b_, b_.outputs()[i]));
    }
    return ok_status();
  }

  void describe(NodeId a, NodeId b) {
    const Node &node = a_.node(a), &other = b_.node(b);
    NodePair pair{a, b, {}, {}, false, false};
    for (size_t i = 0; i < std::min(node.inputs.size(), other.inputs.size()); ++i) {
      const auto found = coded(b_, other.inputs[i]);
      if (!found) continue;
      const bool constant = node.input(i).valid() && a_.constant(node.input(i)) != nullptr;
      const auto grid = qdq::grid_of(b_, *b_.producer(other.inputs[i]), kAnyGrid);
      if (!grid) continue;
      if (constant && grid->codes == DType::kInt32) {
        pair.int32_bias = true;
      } else if (constant && !pair.weight) {
        pair.weight = i;
        add_weight(node, i, other.inputs[i], *found, *grid);
      } else if (!constant && found->real.valid()) {
        pair.inputs.push_back(i);
      }
    }
    pair.output =
        other.output(0).valid() && only_codes(other.output(0)) && of_a_.contains(node.output(0));
    if (pair.inputs.empty() && !pair.weight && !pair.output) return;
    out_.nodes.push_back(std::move(pair));
  }

  /// Every reader is a Q.
  bool only_codes(ValueId value) const {
    const auto readers = uses_b_.of(value);
    return !readers.empty() && !b_.is_output(value) &&
           std::all_of(readers.begin(), readers.end(), [&](const Uses::Use& use) {
             return use.input == 0 && is_quantize(b_.node(use.node));
           });
  }

  void add_weight(
      const Node& node, size_t input, ValueId real, const Coded& weight, const qdq::Grid& grid) {
    const ValueId a = node.input(input);
    if (std::any_of(out_.weights.begin(), out_.weights.end(),
                    [&](const WeightPair& w) { return w.in_float == a; }))
      return;
    out_.weights.push_back(
        {a_.value(a).name, node.name, a, real, grid, codes_of_weight(b_, weight, grid)});
  }

  void list_values() {
    std::set<ValueId> listed;
    const auto add = [&](ValueId a, ValueId b, std::optional<qdq::Grid> grid, CodeRange codes) {
      if (a_.constant(a) != nullptr || !is_float(a_.value(a).type.type) || !listed.insert(a).second)
        return;
      out_.values.push_back(pair_of(a, b, std::move(grid), codes));
    };
    std::set<ValueId> unmatched;
    for (const NodeId id : order_) {
      const Node& node = b_.node(id);
      if (is_quantize(node) && b_.constant(node.input(0)) == nullptr) {
        const auto grid = qdq::grid_of(b_, node, kAnyGrid);
        const auto found = of_b_.find(real_of(b_, node.input(0)));
        if (!grid || found == of_b_.end()) {
          if (unmatched.insert(node.input(0)).second)
            out_.unmatched.push_back(b_.value(node.input(0)).name);
          continue;
        }
        const Node* clamp = qdq::clamp_behind(b_, uses_b_, node.output(0));
        add(found->second, clamp != nullptr ? clamp->output(0) : node.output(0), *grid,
            codes_behind(b_, clamp, *grid));
      }
      // What a layer makes where no Q follows.
      const auto layer =
          std::find_if(out_.nodes.begin(), out_.nodes.end(), [&](const NodePair& pair) {
            return pair.in_quantized == id && !pair.output &&
                   of_a_.contains(a_.node(pair.in_float).output(0));
          });
      if (layer != out_.nodes.end())
        add(a_.node(layer->in_float).output(0), node.output(0), std::nullopt, {0, 0});
    }
    // Nothing but weights is in codes, or activations are at every run: layers are looked at by what
    // they make.
    const bool some_codes =
        std::any_of(out_.values.begin(), out_.values.end(),
                    [](const ValuePair& value) { return value.grid.has_value(); });
    for (const auto& [a, b] : node_of_)
      if (!some_codes && out_.unmatched.empty() && a_.node(a).output(0).valid() &&
          b_.node(b).output(0).valid())
        add(a_.node(a).output(0), b_.node(b).output(0), std::nullopt, {0, 0});
    list_outputs();
  }

  ValuePair pair_of(ValueId a, ValueId b, std::optional<qdq::Grid> grid, CodeRange codes) const {
    const Node* maker = a_.producer(a);
    return {a_.value(a).name,
            maker != nullptr ? maker->name : std::string(),
            a,
            b,
            std::move(grid),
            codes,
            std::nullopt};
  }

  /// An output is what leaves the file: where others alone read it through codes, that is a pair
  /// beside theirs.
  void list_outputs() {
    for (size_t i = 0; i < a_.outputs().size(); ++i) {
      const ValueId a = a_.outputs()[i], b = b_.outputs()[i];
      if (a_.constant(a) != nullptr || !is_float(a_.value(a).type.type)) continue;
      const auto code = coded(b_, b);
      const ValueId leaves = code ? code->codes : b;
      auto same = std::find_if(out_.values.begin(), out_.values.end(), [&](const ValuePair& pair) {
        return pair.in_float == a && pair.in_quantized == (pair.grid ? leaves : b);
      });
      if (same == out_.values.end())
        same = out_.values.insert(same, pair_of(a, b, std::nullopt, {0, 0}));
      if (!same->output) same->output = i;
    }
  }

  Status check() const {
    const auto in_codes = std::count_if(out_.values.begin(), out_.values.end(),
                                        [](const ValuePair& v) { return v.grid.has_value(); });
    const size_t matched = static_cast<size_t>(in_codes) + out_.weights.size();
    if (out_.unmatched.size() > matched)
      return error("they are not the same network: {} of {} values in codes have a counterpart in "
                   "the float model; without one: {}",
                   matched, matched + out_.unmatched.size(), join_some(out_.unmatched, 5));
    return ok_status();
  }

  const Graph &a_, &b_; ///< the float graph, the quantized one
  Uses uses_a_, uses_b_;
  std::vector<NodeId> order_;
  std::map<ValueId, ValueId> of_b_, of_a_; ///< reals
  std::map<NodeId, NodeId> node_of_;       ///< by node of the float graph
  std::map<NodeId, ValueId> dropped_;      ///< clamps of the float graph that Q does
  std::set<NodeId> taken_;
  ModelPairs out_;
};

} // namespace

Result<ModelPairs> pair_models(const Graph& prepared, const Graph& quantized) {
  return Pairing(prepared, quantized).run();
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// Which layers TensorRT can run in int8: those whose inputs come through DQ. It decides itself, by
// timing, among the kernels that Q/DQ allow. Attention may become one kernel. Source:
// docs/targets.md 2.
#include <algorithm>
#include <map>

#include "core/format.h"
#include "core/string_util.h"
#include "targets/checks.h"
#include "targets/tensorrt/attention.h"

namespace octet {

namespace {

class TensorRtExplainer {
 public:
  TensorRtExplainer(const Graph& graph, const TargetDef& target)
      : graph_(graph), uses_(graph), target_(target) {
    for (const Attention& attention : find_attention(graph, uses_)) {
      attentions_.push_back(
          {tensorrt_attention(attention),
           fmt::format("attention \"{}\"", name_of(graph, graph.node(attention.softmax)))});
      for (const NodeId id : {attention.scores, attention.softmax, attention.context})
        attention_of_[id] = attentions_.size() - 1;
      for (const NodeId id : attention.between)
        attention_of_[id] = attentions_.size() - 1;
    }
    for (const NodeId id : graph.nodes())
      if (is_product(graph.node(id)) && attention_of_.find(id) == attention_of_.end())
        find_epilogue(graph.node(id));
  }

  LayerForm layer(const Node& node) const {
    LayerForm out;
    out.id = node.id;
    out.node = name_of(graph_, node);
    out.op = node.op_type;
    out.form = node.op_type;
    const PlacementRule* rule = target_.placement->rule(node);
    out.source = "targets " + std::string(rule != nullptr ? rule->clause : "2.1");
    const auto [codes, reals] = count_inputs(node);
    const bool product = rule != nullptr && rule->treatment == Treatment::kProduct;
    if (product) {
      of_product(node, codes, reals, out);
    } else if (rule != nullptr && rule->treatment == Treatment::kAround) {
      of_around(node, codes, out);
    } else if (rule != nullptr && rule->treatment == Treatment::kResidual) {
      of_sum(node, codes, out);
    } else if (rule != nullptr && rule->treatment == Treatment::kCommutes) {
      of_commuting(node, *rule, out);
    } else {
      out.why = rule != nullptr ? rule->why : target_.placement->otherwise;
    }
    if (const auto found = epilogue_of_.find(node.id); found != epilogue_of_.end())
      out.fusion = epilogues_[found->second];
    with_attention(node, out);
    if (is_strongly_typed() && out.precision == LayerPrecision::kFloat) in_own_type(node, out);
    return out;
  }

 private:
  /// From 11 on a layer computes in the types that the file says.
  bool is_strongly_typed() const { return target_.version >= 1100; }

  void in_own_type(const Node& node, LayerForm& out) const {
    const auto made = std::find_if(node.outputs.begin(), node.outputs.end(),
                                   [](ValueId id) { return id.valid(); });
    if (made != node.outputs.end()) out.type = graph_.value(*made).type.type;
    if (out.type != DType::kUndefined) out.precision = LayerPrecision::kTyped;
  }

  struct Kernel {
    FusedAttention verdict;
    std::string name;
  };

  const std::string& name(ValueId id) const { return graph_.value(id).name; }

  /// What a layer between codes of one type runs in: in float, where TensorRT has no such kernel.
  static LayerPrecision precision_of(DType codes) {
    switch (codes) {
    case DType::kInt8:
    case DType::kUint8:     // read as int8
    case DType::kUndefined: // of an operator that octet does not know
      return LayerPrecision::kInt8;
    case DType::kFloat8E4M3FN:
      return LayerPrecision::kFp8;
    case DType::kFloat4E2M1:
      return LayerPrecision::kFp4;
    default:
      return LayerPrecision::kFloat;
    }
  }

  DType type_of(ValueId value) const { return graph_.value(value).type.type; }

  void ask_for_codes(LayerForm& out, const char* where, ValueId value) const {
    out.mend += fmt::format("{} \"{}\"", where, name(value));
    out.wants_codes.push_back(name(value));
  }

  /// A layer with codes on all sides.
  void between_codes(const std::vector<DType>& types, const char* why, LayerForm& out) const {
    const bool alike =
        std::all_of(types.begin(), types.end(), [&](DType type) { return type == types.front(); });
    const LayerPrecision precision = alike ? precision_of(types.front()) : LayerPrecision::kFloat;
    if (precision != LayerPrecision::kFloat) {
      out.precision = precision;
      out.why = why;
      return;
    }
    std::vector<std::string> names;
    for (const DType type : types)
      if (std::string known(octet::name(type));
          std::find(names.begin(), names.end(), known) == names.end())
        names.push_back(std::move(known));
    out.why = fmt::format("the codes around it are {}: it computes with INT8, FP8 E4M3FN or FP4, "
                          "one of them on all sides, and otherwise in float",
                          join(names, " and "));
    out.mend = "quantize all of them to int8";
  }

  void of_around(const Node& node, int codes, LayerForm& out) const {
    const auto behind = codes_behind(node.output(0));
    if (codes > 0 && behind) {
      std::vector<DType> types = {*behind};
      for (const ValueId in : node.inputs)
        if (const auto before = codes_before(in)) types.push_back(*before);
      between_codes(types, "Q/DQ on its input and Q behind it", out);
    } else if (codes > 0) {
      out.why = "no Q behind it: it needs Q/DQ on both sides";
      ask_for_codes(out, "put Q/DQ on its output", node.output(0));
    } else {
      out.why = "its input does not come through DQ";
      ask_for_codes(out, "put Q/DQ on its input", node.input(0));
    }
  }

  static bool is_activation(const Node& node) {
    return node.is("Relu") || node.is("Clip") || node.is("BatchNormalization");
  }

  void of_commuting(const Node& node, const PlacementRule& rule, LayerForm& out) const {
    const bool fused = epilogue_of_.find(node.id) != epilogue_of_.end();
    out.precision = behind_codes(node) ? LayerPrecision::kCodes : LayerPrecision::kFloat;
    if (fused || (behind_codes(node) && !is_activation(node)))
      out.why = rule.why;
    else
      out.why = behind_codes(node) ? "no product before it takes it along" : "no Q/DQ around it";
  }

  bool is_product(const Node& node) const {
    const PlacementRule* rule = target_.placement->rule(node);
    return rule != nullptr && rule->treatment == Treatment::kProduct;
  }

  enum class Sum { kBias, kResidual, kOther };
  /// Of an Add: whether a constant is added, or a shortcut that comes through DQ.
  Sum sum_of(const Node& add, ValueId from) const {
    const ValueId other = add.input(0) == from ? add.input(1) : add.input(0);
    if (graph_.constant(other) != nullptr) return Sum::kBias;
    return through_dq(other) ? Sum::kResidual : Sum::kOther;
  }

  /// What TensorRT computes in the kernel of a product (2.1 rules 3 and 4): batch norm, a bias, a
  /// shortcut that comes through DQ, then Relu or Clip.
  void find_epilogue(const Node& product) {
    std::string kernel = label(graph_, product);
    std::vector<NodeId> parts = {product.id};
    ValueId y = product.output(0);
    for (bool open = true; open;) {
      const NodeId id = uses_.single_consumer(y);
      if (!id.valid() || epilogue_of_.find(id) != epilogue_of_.end()) break;
      const Node& next = graph_.node(id);
      if (attention_of_.find(id) != attention_of_.end()) break;
      if (next.is("Add") && sum_of(next, y) == Sum::kBias) {
        kernel += " + bias";
      } else if (next.is("Add") && sum_of(next, y) == Sum::kResidual) {
        kernel += " + residual";
      } else if (is_activation(next)) {
        kernel += " + " + next.op_type;
        open = next.is("BatchNormalization");
      } else {
        break;
      }
      parts.push_back(id);
      y = next.output(0);
    }
    if (parts.size() == 1) return;
    for (const NodeId id : parts)
      epilogue_of_[id] = epilogues_.size();
    epilogues_.push_back(std::move(kernel));
  }

  void of_sum(const Node& node, int codes, LayerForm& out) const {
    const bool fused = epilogue_of_.find(node.id) != epilogue_of_.end();
    const bool constant =
        graph_.constant(node.input(0)) != nullptr || graph_.constant(node.input(1)) != nullptr;
    if (constant) {
      out.why = fused ? "the bias of the product before it"
                      : "adds a constant: nothing to quantize, it is fused where it can be";
      return;
    }
    if (const auto behind = codes_behind(node.output(0)); codes == 2 && behind) {
      between_codes({*codes_before(node.input(0)), *codes_before(node.input(1)), *behind},
                    "Q/DQ on its inputs and Q behind it", out);
      out.source = "targets 2.1 rule 5";
      return;
    }
    const bool residual = behind_product(node.input(0)) || behind_product(node.input(1));
    if (fused) {
      out.why = "its shortcut comes through DQ, the other side is the product's own output";
    } else if (residual && codes == 0) {
      const ValueId shortcut = node.input(behind_product(node.input(0)) ? 1 : 0);
      out.why = "its shortcut does not come through DQ: the product before it cannot take it along";
      ask_for_codes(out, "put Q/DQ on", shortcut);
    } else {
      out.why = "in int8 only with Q/DQ on both inputs and Q behind it";
      out.source = "targets 2.1 rule 5";
    }
  }

  /// Whether a product, with its bias or batch norm, makes the value.
  bool behind_product(ValueId value) const {
    for (int hops = 0; hops < 4; ++hops) {
      const Node* before = graph_.producer(value);
      if (before == nullptr) return false;
      if (is_product(*before)) return true;
      const bool bias = before->is("Add") && (graph_.constant(before->input(0)) != nullptr ||
                                              graph_.constant(before->input(1)) != nullptr);
      if (!bias && !before->is("BatchNormalization")) return false;
      value = before->input(bias && graph_.constant(before->input(0)) != nullptr ? 1 : 0);
    }
    return false;
  }

  void of_product(const Node& node, int codes, int reals, LayerForm& out) const {
    const auto weight = codes_before(node.input(1));
    if (weight == DType::kInt4 || weight == DType::kUint4) {
      out.why = "its weight is stored in 4 bits: the product is in the type of its input";
      return;
    }
    if (codes >= 2 && reals == 0)
      return between_codes({*codes_before(node.input(0)), *weight},
                           "all of its inputs come through DQ", out);
    out.why = codes == 0 ? "none of its inputs comes through DQ"
                         : fmt::format("{} of its inputs come through DQ, {} do not", codes, reals);
    for (size_t i = 0; i < std::min<size_t>(node.inputs.size(), 2); ++i)
      if (!through_dq(node.input(i)))
        ask_for_codes(out, out.mend.empty() ? "put Q/DQ on" : " and on", node.input(i));
  }

  void with_attention(const Node& node, LayerForm& out) const {
    const auto found = attention_of_.find(node.id);
    if (found == attention_of_.end()) return;
    const Kernel& kernel = attentions_[found->second];
    const bool wide = is_strongly_typed() && !kernel.verdict.quantized &&
                      graph_.value(node.output(0)).type.type == DType::kFloat32;
    if (kernel.verdict.fused && wide) {
      out.why = kernel.name + " is not fused: the kernel takes fp16, bf16 or int8, not fp32";
      out.mend = "convert the model to 16 bits (octet export --precision fp16)";
      out.wants_codes.clear();
      out.source = "targets 2.4";
    } else if (kernel.verdict.fused) {
      out.fusion = kernel.name;
      out.precision =
          kernel.verdict.quantized ? precision_of(kernel.verdict.codes) : LayerPrecision::kFloat;
      out.why = kernel.verdict.quantized ? "Q/DQ at all places that the fused kernel asks for"
                                         : "no Q/DQ in it: the fused kernel runs in 16 bits";
      out.mend.clear();
      out.wants_codes.clear();
      out.source = "targets 2.4";
    } else if (kernel.verdict.quantized) { // Q/DQ is there, the kernel is not
      out.why += fmt::format("; {} is not fused: {}", kernel.name, kernel.verdict.condition);
      out.mend = kernel.verdict.mend;
      out.wants_codes.clear();
      out.source = "targets 2.4";
    }
  }

  /// The type of the codes that DQ makes the value of; nothing: no DQ does.
  std::optional<DType> codes_before(ValueId id) const {
    const Node* before = id.valid() ? graph_.producer(id) : nullptr;
    if (before == nullptr || !is_dequantize(*before)) return std::nullopt;
    return type_of(before->input(0));
  }
  bool through_dq(ValueId id) const { return codes_before(id).has_value(); }

  /// Real inputs through DQ, and others (biases do not count).
  std::pair<int, int> count_inputs(const Node& node) const {
    int codes = 0;
    int reals = 0;
    for (size_t i = 0; i < std::min<size_t>(node.inputs.size(), 2); ++i)
      (through_dq(node.input(i)) ? codes : reals) += 1;
    return {codes, reals};
  }

  /// The type of the codes that the next Q makes of the value; nothing: no Q takes it.
  std::optional<DType> codes_behind(ValueId id) const {
    for (int hops = 0; hops < 8; ++hops) {
      const NodeId next = uses_.single_consumer(id);
      if (!next.valid()) return std::nullopt;
      const Node& node = graph_.node(next);
      if (is_quantize(node)) return type_of(node.output(0));
      const PlacementRule* rule = target_.placement->rule(node);
      if (rule == nullptr || rule->treatment != Treatment::kCommutes) return std::nullopt;
      id = node.output(0);
    }
    return std::nullopt;
  }

  bool behind_codes(const Node& node) const {
    return through_dq(node.input(0)) || codes_behind(node.output(0)).has_value();
  }

  const Graph& graph_;
  const Uses uses_;
  const TargetDef& target_;
  std::vector<Kernel> attentions_;
  std::map<NodeId, size_t> attention_of_; ///< index in attentions_
  std::vector<std::string> epilogues_;
  std::map<NodeId, size_t> epilogue_of_; ///< index in epilogues_
};

} // namespace

Result<std::vector<LayerForm>> explain_tensorrt(const Graph& graph, const TargetDef& target) {
  const TensorRtExplainer explainer(graph, target);
  std::vector<LayerForm> out;
  for (const NodeId id : OCTET_TRY(graph.topological())) {
    const Node& node = graph.node(id);
    if (!is_qdq(node) && !node.is("Constant")) out.push_back(explainer.layer(node));
  }
  return out;
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
//   LayerNormalization below 17, Gelu below 20, Mish below 18, HardSwish below 14, RMSNormalization
//   below 23, CastLike below 15          =>   chains and operators of the earlier set: rounding
//   axes of reductions below 18, num_outputs of Split below 18, axes of Pad below 18, start and end
//   of Shape below 15                    =>   attributes and inputs of the earlier set: exact
// Types that the earlier set's operators do not take are refused (schema_types.h).
// Source: the operators' change logs of ONNX, opsets 13 to 25.
#include "passes/standardize/reduce_opset.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/format.h"
#include "graph/bodies.h"
#include "graph/edit.h"
#include "graph/label.h"
#include "ops/qdq/site.h"
#include "ops/schema_types.h"
#include "passes/match.h"
#include "passes/standardize/raise_opset.h"
#include "passes/standardize/standard_operators.h"

namespace octet {
namespace {

/// Operators that came later than 13, where the earlier sets have nothing for them.
const std::map<std::string_view, int64_t>& introduced() {
  static const std::map<std::string_view, int64_t> versions = {{"Trilu", 14},
                                                               {"Bernoulli", 15},
                                                               {"Optional", 15},
                                                               {"OptionalGetElement", 15},
                                                               {"OptionalHasElement", 15},
                                                               {"GridSample", 16},
                                                               {"DFT", 17},
                                                               {"STFT", 17},
                                                               {"HannWindow", 17},
                                                               {"HammingWindow", 17},
                                                               {"BlackmanWindow", 17},
                                                               {"MelWeightMatrix", 17},
                                                               {"SequenceMap", 17},
                                                               {"BitwiseAnd", 18},
                                                               {"BitwiseNot", 18},
                                                               {"BitwiseOr", 18},
                                                               {"BitwiseXor", 18},
                                                               {"CenterCropPad", 18},
                                                               {"Col2Im", 18},
                                                               {"GroupNormalization", 18},
                                                               {"DeformConv", 19},
                                                               {"AffineGrid", 20},
                                                               {"ImageDecoder", 20},
                                                               {"RegexFullMatch", 20},
                                                               {"StringConcat", 20},
                                                               {"StringSplit", 20},
                                                               {"Attention", 23},
                                                               {"RotaryEmbedding", 23},
                                                               {"Swish", 24},
                                                               {"TensorScatter", 24}};
  return versions;
}

/// An attribute that came with a version and says something else than was the rule before.
struct NewAttribute {
  std::string_view op, name;
  int64_t since;
  std::string_view usual; ///< as text: numbers in decimal
};
constexpr NewAttribute kAttributes[] = {
    {"Reshape", "allowzero", 14, "0"},
    {"BatchNormalization", "training_mode", 14, "0"},
    {"RNN", "layout", 14, "0"},
    {"GRU", "layout", 14, "0"},
    {"LSTM", "layout", 14, "0"},
    {"ScatterElements", "reduction", 16, "none"},
    {"ScatterND", "reduction", 16, "none"},
    {"Resize", "antialias", 18, "0"},
    {"Resize", "axes", 18, ""},
    {"Resize", "keep_aspect_ratio_policy", 18, "stretch"},
    {"LpPool", "ceil_mode", 18, "0"},
    {"LpPool", "dilations", 18, ""},
    {"AveragePool", "dilations", 19, ""},
    {"Cast", "saturate", 19, "1"},
    {"CastLike", "saturate", 19, "1"},
    {"QuantizeLinear", "saturate", 19, "1"},
    {"QuantizeLinear", "block_size", 21, "0"},
    {"QuantizeLinear", "output_dtype", 21, "0"},
    {"QuantizeLinear", "precision", 23, "0"},
    {"DequantizeLinear", "block_size", 21, "0"},
    {"DequantizeLinear", "output_dtype", 23, "0"},
};

std::string text_of(const Node& node, std::string_view name) {
  const Attribute* attribute = node.attr(name);
  if (const auto* number = std::get_if<int64_t>(&attribute->value)) return std::to_string(*number);
  if (const auto* text = std::get_if<std::string>(&attribute->value)) return *text;
  if (const auto* many = std::get_if<std::vector<int64_t>>(&attribute->value)) {
    const bool ones = std::all_of(many->begin(), many->end(), [](int64_t v) { return v == 1; });
    return ones && name == "dilations" ? "" : to_string(*many);
  }
  return "?";
}

Error in_the_way(const Graph& graph, const Node& node, int64_t version, const std::string& why) {
  return error(ErrorCode::kUnsupported, "node {}: opset {} {}", label(graph, node), version, why);
}

class Reducer {
 public:
  Reducer(Graph& graph, int64_t version) : graph_(graph), version_(version) {}

  Result<std::vector<Step>> run() {
    for (const NodeId id : graph_.nodes())
      if (graph_.node(id).domain.empty()) OCTET_TRY(convert(id));
    graph_.opsets[""] = version_;
    return std::move(steps_);
  }

 private:
  Status convert(NodeId id) {
    OCTET_TRY(check(graph_.node(id)));
    OCTET_TRY(drop_attributes(id));
    if (version_ < 20) name_sampling_mode(id);
    if (version_ < 18) {
      if (is_reduction(graph_.node(id))) OCTET_TRY(axes_to_attribute(id));
      if (graph_.node(id).is("Split")) OCTET_TRY(equal_parts(id));
      if (graph_.node(id).is("Pad")) OCTET_TRY(pad_all_axes(id));
    }
    return ok_status();
  }

  void note(const Node& node, const char* rule, std::string why) {
    steps_.push_back({static_cast<int>(steps_.size()) + 1, rule, label(graph_, node),
                      std::move(why), Exactness::kExact});
  }

  Status check(const Node& node) const {
    if (has_bodies(node)) return in_the_way(graph_, node, version_, "is not written into bodies");
    const auto since = introduced().find(node.op_type);
    if (since != introduced().end() && since->second > version_)
      return in_the_way(graph_, node, version_,
                        fmt::format("lacks the operator; it came with {}", since->second));
    if ((node.is("QuantizeLinear") || node.is("DequantizeLinear")) && version_ < 19) {
      const DType scale = graph_.value(qdq::written(graph_, node).scale).type.type;
      if (scale != DType::kFloat32 && scale != DType::kUndefined)
        return in_the_way(graph_, node, version_,
                          fmt::format("takes scales of f32 only, not of {}", name(scale)));
    }
    if (node.is("GridSample") && version_ < 20 && !is_image(node.input(0)))
      return in_the_way(graph_, node, version_, "samples images alone");
    if (node.is("DFT") && version_ < 20 && graph_.opset() >= 20)
      return in_the_way(graph_, node, version_, "has the axis elsewhere");
    if (node.is("GroupNormalization") && version_ < 21 && graph_.opset() >= 21)
      return in_the_way(graph_, node, version_, "scales groups rather than channels");
    if (node.is("Pad") && version_ < 19 && node.attr_string("mode", "constant") == "wrap")
      return in_the_way(graph_, node, version_, "does not wrap");
    if (node.is("AveragePool") && version_ < 19 && graph_.opset() >= 19 &&
        node.attr_int("ceil_mode", 0) != 0)
      return in_the_way(graph_, node, version_,
                        "counts cells otherwise where the last window is cut");
    return ok_status();
  }

  Status drop_attributes(NodeId id) {
    Node& node = graph_.mutable_node(id);
    for (const NewAttribute& a : kAttributes) {
      if (node.op_type != a.op || a.since <= version_ || !node.has_attr(a.name)) continue;
      const std::string value = text_of(node, a.name);
      const bool said_by_zero_point = a.name == "output_dtype" && node.is("QuantizeLinear") &&
                                      qdq::written(graph_, node).zero.valid();
      if (value != a.usual && !said_by_zero_point)
        return in_the_way(graph_, node, version_, fmt::format("has no {} = {}", a.name, value));
      node.attributes.erase(node.attributes.find(a.name));
      note(node, "drop_attribute", fmt::format("{} is what {} does", a.name, version_));
    }
    return ok_status();
  }

  bool is_image(ValueId value) const {
    const TypeInfo& type = graph_.value(value).type;
    return type.has_rank() && type.rank() == 4;
  }

  void name_sampling_mode(NodeId id) {
    Node& node = graph_.mutable_node(id);
    const std::string mode = node.attr_string("mode", "");
    if (!node.is("GridSample") || (mode != "linear" && mode != "cubic")) return;
    node.set("mode", "bi" + mode);
    note(node, "name_sampling_mode", "modes had the names that they have for images");
  }

  Result<std::vector<int64_t>> constant_ints(const Node& node, size_t input) const {
    const Tensor* tensor = graph_.constant(node.input(input));
    if (tensor == nullptr)
      return in_the_way(
          graph_, node, version_,
          fmt::format("wants \"{}\" to be constant", graph_.value(node.input(input)).name));
    return tensor->to_ints();
  }

  Status axes_to_attribute(NodeId id) {
    Node& node = graph_.mutable_node(id);
    const bool none = node.attr_int("noop_with_empty_axes", 0) != 0;
    node.attributes.erase("noop_with_empty_axes");
    if (!node.input(1).valid())
      return none ? Status(
                        in_the_way(graph_, node, version_, "reduces all axes where none is named"))
                  : ok_status();
    const std::vector<int64_t> axes = OCTET_TRY(constant_ints(node, 1));
    if (axes.empty() && none)
      return in_the_way(graph_, node, version_, "reduces all axes without axes");
    if (!axes.empty()) node.set("axes", axes);
    node.inputs.resize(1);
    note(node, "axes_to_attribute", "axes were an attribute before 18");
    return ok_status();
  }

  Status equal_parts(NodeId id) {
    Node& node = graph_.mutable_node(id);
    if (!node.has_attr("num_outputs")) return ok_status();
    const TypeInfo& type = graph_.value(node.input(0)).type;
    if (!type.has_rank()) return in_the_way(graph_, node, version_, "wants the sizes of the parts");
    const int64_t axis = node.attr_int("axis", 0);
    const auto size =
        (*type.shape)[static_cast<size_t>(axis < 0 ? axis + type.rank() : axis)].maybe_value();
    const auto parts = static_cast<int64_t>(node.outputs.size());
    if (!size) return in_the_way(graph_, node, version_, "wants the sizes of the parts");
    node.attributes.erase("num_outputs");
    note(node, "drop_attribute", "parts are counted by outputs");
    if (*size % parts == 0) return ok_status();
    const int64_t part = (*size + parts - 1) / parts;
    std::vector<int64_t> sizes(static_cast<size_t>(parts), part);
    sizes.back() = *size - part * (parts - 1);
    graph_.set_node_input(id, 1, graph_.add_constant(node.name + "/split", int_list(sizes)));
    return ok_status();
  }

  Status pad_all_axes(NodeId id) {
    if (!graph_.node(id).input(3).valid()) return ok_status();
    const Node& node = graph_.node(id);
    const std::vector<int64_t> axes = OCTET_TRY(constant_ints(node, 3));
    const std::vector<int64_t> pads = OCTET_TRY(constant_ints(node, 1));
    const TypeInfo& type = graph_.value(node.input(0)).type;
    if (!type.has_rank()) return in_the_way(graph_, node, version_, "wants pads of every axis");
    const auto rank = static_cast<size_t>(type.rank());
    std::vector<int64_t> all(2 * rank, 0);
    for (size_t i = 0; i < axes.size() && pads.size() == 2 * axes.size(); ++i) {
      const auto axis = static_cast<size_t>(axes[i] < 0 ? axes[i] + type.rank() : axes[i]);
      if (axis >= rank) return in_the_way(graph_, node, version_, "has no such axis");
      all[axis] = pads[i];
      all[rank + axis] = pads[axes.size() + i];
    }
    note(node, "pad_all_axes", "pads name every axis before 18");
    graph_.set_node_input(id, 1, graph_.add_constant(node.name + "/pads", int_list(all)));
    graph_.mutable_node(id).inputs.resize(graph_.node(id).input(2).valid() ? 3 : 2);
    return ok_status();
  }

  Graph& graph_;
  const int64_t version_;
  std::vector<Step> steps_;
};

/// Those of com.microsoft, which every operator set has, stay.
std::optional<Patch> decompose_own_gelu(const RuleContext& context, const Node& node) {
  return node.is("Gelu") ? decompose_gelu(context, node) : std::nullopt;
}

std::optional<Patch> decompose_layer_norm(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("LayerNormalization") || node.outputs.size() != 1) return std::nullopt;
  const TypeInfo& x = g.value(node.input(0)).type;
  const int64_t axis = node.attr_int("axis", -1);
  if (!x.has_rank() || (axis != -1 && axis != x.rank() - 1)) return std::nullopt;
  Patch patch(g, "the chain that LayerNormalization is", Exactness::kRounding);
  patch.from(node);
  Node same = node;
  same.set("epsilon", node.attr_float("epsilon", 1e-5F));
  patch.replace(node.output(0), emit_layer_norm(patch, g, same, node.input(0), node.input(1),
                                                node.input(2), x.rank()));
  return patch;
}

std::optional<Patch> decompose_activation(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  const bool mish = node.is("Mish") && g.opset() < 18;
  const bool swish = node.is("HardSwish") && g.opset() < 14;
  if (!mish && !swish) return std::nullopt;
  Patch patch(g, node.op_type + " is x times another function of x", Exactness::kRounding);
  patch.from(node);
  const ValueId x = node.input(0);
  ValueId factor;
  if (mish) {
    factor = patch.emit("Tanh", {patch.emit("Softplus", {x}, {}, node.name + "/softplus")}, {},
                        node.name + "/tanh");
  } else {
    Attributes attributes;
    attributes["alpha"].value = 1.0F / 6;
    attributes["beta"].value = 0.5F;
    factor = patch.emit("HardSigmoid", {x}, std::move(attributes), node.name + "/gate");
  }
  patch.replace(node.output(0), patch.emit("Mul", {x, factor}, {}, node.name));
  return patch;
}

std::optional<Patch> decompose_cast_like(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("CastLike") || !node.input(1).valid()) return std::nullopt;
  const DType type = g.value(node.input(1)).type.type;
  if (type == DType::kUndefined) return std::nullopt;
  Patch patch(g, "the type is known", Exactness::kExact);
  patch.from(node);
  Attributes attributes;
  attributes["to"].value = static_cast<int64_t>(type);
  patch.replace(node.output(0),
                patch.emit("Cast", {node.input(0)}, std::move(attributes), node.name));
  return patch;
}

std::optional<Patch> decompose_shape(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  if (!node.is("Shape") || (!node.has_attr("start") && !node.has_attr("end"))) return std::nullopt;
  Patch patch(g, "a part of the shape", Exactness::kExact);
  patch.from(node);
  const int64_t start = node.attr_int("start", 0);
  const int64_t end = node.attr_int("end", std::numeric_limits<int64_t>::max());
  const ValueId whole = patch.emit("Shape", {node.input(0)}, {}, node.name + "/whole");
  patch.replace(node.output(0), patch.emit("Slice",
                                           {whole, emit_ints(patch, node.name + "/start", {start}),
                                            emit_ints(patch, node.name + "/end", {end})},
                                           {}, node.name));
  return patch;
}

std::vector<Rule> decompositions(int64_t version) {
  std::vector<Rule> rules;
  if (version < 23) rules.push_back({"decompose_rms_norm", decompose_rms_norm});
  if (version < 20) rules.push_back({"decompose_gelu", decompose_own_gelu});
  if (version < 18) rules.push_back({"decompose_activation", decompose_activation});
  if (version < 17) rules.push_back({"decompose_layer_norm", decompose_layer_norm});
  if (version < 15) {
    rules.push_back({"decompose_cast_like", decompose_cast_like});
    rules.push_back({"decompose_shape", decompose_shape});
  }
  return rules;
}

/// What no rule took.
Status check_left(const Graph& graph, int64_t version) {
  const std::map<std::string_view, int64_t> since = {
      {"RMSNormalization", 23},   {"Gelu", 20},     {"Mish", 18},
      {"LayerNormalization", 17}, {"CastLike", 15}, {"HardSwish", 14}};
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const auto found = since.find(node.op_type);
    if (node.domain.empty() && found != since.end() && version < found->second)
      return in_the_way(graph, node, version,
                        "lacks the operator, and its chain needs known types (of "
                        "LayerNormalization and RMSNormalization: and the last axis alone)");
  }
  return ok_status();
}

/// Types that came later than the version: codes of 16 and of 4 bits with 21, FP8 with 19, ...
Status check_types_left(const Graph& graph, int64_t version) {
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const OperatorTypes::Version* schema =
        node.domain.empty() ? onnx_schemas().find(node.op_type, version) : nullptr;
    if (schema == nullptr) continue;
    const auto fault = type_fault(graph, node, *schema);
    if (!fault) continue;
    const int64_t since = takes_types_from(graph, node, version);
    return in_the_way(
        graph, node, version,
        fmt::format("does not take {}{}", text_of(graph, node, *fault),
                    since > 0 ? fmt::format("; operator set {} does", since) : std::string()));
  }
  return ok_status();
}

} // namespace

Result<std::vector<Step>> reduce_opset(Graph& graph, int64_t version) {
  const int64_t from = graph.opset();
  if (version < kOldestOpset || from > kNewestOpset || version > from)
    return error(ErrorCode::kUnsupported,
                 "opset {} cannot be written as {}; both lie between {} and {} and do not rise",
                 from, version, kOldestOpset, kNewestOpset);
  if (!graph.info.functions.empty())
    return error(ErrorCode::kUnsupported,
                 "the model has local functions, which are written for opset {}; simplify it first",
                 from);
  OCTET_TRY(infer_types(graph));
  std::vector<Step> steps = OCTET_TRY(Reducer(graph, version).run());
  const std::vector<Rule> rules = decompositions(version);
  for (Step& step : OCTET_TRY(rewrite(graph, rules))) {
    step.number = static_cast<int>(steps.size()) + 1;
    steps.push_back(std::move(step));
  }
  OCTET_TRY(check_left(graph, version));
  OCTET_TRY(infer_types(graph));
  OCTET_TRY(check_types_left(graph, version));
  return steps;
}

} // namespace octet

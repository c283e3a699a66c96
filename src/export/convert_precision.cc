// SPDX-License-Identifier: Apache-2.0
//   x: f32 ─▶ A ─▶ B ─▶ y: f32     =>     x ─▶ Cast ─▶ A in 16 bits ─▶ B in 16 bits ─▶ Cast ─▶ y
// with a Cast around every layer that stays in f32. Changes numbers: everything is rounded to 16
// bits, constants that do not fit are clamped. Codes of Q/DQ stay where the scales are numbers of
// the type (round_scales).
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/format.h"
#include "export/precision_rules.h"
#include "graph/label.h"
#include "graph/verify.h"
#include "ops/infer.h"
#include "passes/standardize/raise_opset.h"
#include "quant/place.h"
#include "quant/scheme.h"

namespace octet {

namespace {

class Converter {
 public:
  Converter(Graph& graph, const PrecisionOptions& options)
      : graph_(graph), options_(options), to_(options.type) {
    patterns_.exclude = options.keep_float;
  }

  Result<std::vector<ExportNote>> run() {
    OCTET_TRY(infer_types(graph_));
    OCTET_TRY(check_patterns(graph_, patterns_));
    raise_for_type();
    counting_ = OCTET_TRY(counting_nodes(graph_));
    for (const NodeId id : graph_.nodes())
      captured_.insert(graph_.node(id).captures.begin(), graph_.node(id).captures.end());
    for (const NodeId id : OCTET_TRY(graph_.topological()))
      if (concerns(graph_.node(id))) OCTET_TRY(convert(id));
    restore_outputs();
    graph_.remove_dead();
    for (const auto& [half, original] : names_)
      if (graph_.value(half).is_constant() && !graph_.find_value(original))
        graph_.rename(half, original);
    OCTET_TRY(infer_types(graph_));
    OCTET_TRY(verify(graph_));
    return std::move(notes_);
  }

 private:
  bool is_real(ValueId id) const {
    return id.valid() && (halves_.contains(id) || graph_.value(id).type.type == DType::kFloat32);
  }
  bool concerns(const Node& node) const {
    const auto real = [&](ValueId id) { return is_real(id); };
    return !node.is("Constant") && (std::any_of(node.inputs.begin(), node.inputs.end(), real) ||
                                    std::any_of(node.outputs.begin(), node.outputs.end(), real));
  }

  /// To the operator set in which the operators that can be converted take the type.
  void raise_for_type() {
    const int64_t from = graph_.opset();
    int64_t wanted = from;
    std::string first;
    for (const NodeId id : graph_.nodes()) {
      const Node& node = graph_.node(id);
      if (!concerns(node) || pattern_verdict(patterns_, node)) continue;
      const int64_t since = half_since(graph_, node, to_);
      if (since <= wanted || since > options_.max_opset) continue;
      wanted = since;
      first = node.op_type;
    }
    if (wanted == from) return;
    const Status raised = raise_opset(graph_, wanted);
    notes_.push_back({raised.ok() ? "raise_opset" : "keep_opset", graph_.name,
                      raised.ok() ? fmt::format("from {} to {}, which has {} of {}", from, wanted,
                                                first, name(to_))
                                  : raised.error().text(),
                      true});
  }

  std::optional<std::string> why_float(NodeId id) const {
    const Node& node = graph_.node(id);
    if (pattern_verdict(patterns_, node)) return "kept by pattern";
    if (std::any_of(node.outputs.begin(), node.outputs.end(),
                    [&](ValueId out) { return captured_.contains(out); }))
      return "the body of another node reads it";
    // Values keep the type f32 until all nodes are done, so the rules see the source.
    if (auto why = float_by_operator(graph_, node, to_)) return why;
    if (counting_.contains(id)) return "it becomes an index, or another integer";
    return float_by_values(graph_, node, options_);
  }

  Status convert(NodeId id) {
    const auto why = why_float(id);
    if (why) notes_.push_back({"keep_float", label(graph_, graph_.node(id)), *why, true});
    const size_t count = graph_.node(id).inputs.size();
    for (size_t i = 0; i < count; ++i) {
      const ValueId in = graph_.node(id).inputs[i];
      if (!is_real(in)) continue;
      if (!why && casts_to_integers(graph_.node(id))) continue; // reads either type
      const bool half = !why && !(graph_.node(id).is("Resize") && i > 0);
      const ValueId now = OCTET_TRY(half ? as_half_value(in, id, i) : as_float_value(in));
      if (now != in) graph_.set_node_input(id, i, now);
    }
    if (why) return ok_status();
    Node& node = graph_.mutable_node(id);
    for (const char* key : {"to", "dtype", "output_dtype"}) // of what they make
      if (node.attr_int(key, 0) == static_cast<int64_t>(DType::kFloat32))
        node.set(key, static_cast<int64_t>(to_));
    if (node.is("ConstantOfShape")) OCTET_TRY(convert_fill(node));
    for (const ValueId out : node.outputs)
      if (out.valid() && graph_.value(out).type.type == DType::kFloat32) halves_.insert(out);
    return ok_status();
  }

  Status convert_fill(Node& node) const {
    const Attribute* value = node.attr("value");
    double fill = 0;
    if (value != nullptr && std::holds_alternative<Tensor>(value->value))
      fill = std::get<Tensor>(value->value).at(0);
    const double largest = half_range(to_).largest;
    if (std::isfinite(fill)) fill = std::clamp(fill, -largest, largest);
    node.set("value", OCTET_TRY(Tensor::from_doubles(to_, {1}, std::vector<double>{fill})));
    return ok_status();
  }

  Result<ValueId> as_half_value(ValueId id, NodeId reader, size_t input) {
    if (halves_.contains(id)) return id;
    const auto found = to_half_.find(id);
    if (found != to_half_.end()) return found->second;
    const std::string name = graph_.value(id).name;
    ValueId made;
    if (const Tensor* constant = graph_.constant(id)) {
      made = graph_.add_constant(graph_.unique_name(name + suffix()),
                                 OCTET_TRY(half_constant(*constant, reader, input, name)));
      names_.emplace_back(made, name);
    } else {
      made = cast(id, to_, name + suffix());
    }
    to_half_.emplace(id, made);
    return made;
  }

  Result<ValueId> as_float_value(ValueId id) {
    if (!halves_.contains(id)) return id;
    const auto [found, is_new] = to_float_.try_emplace(id);
    if (is_new) found->second = cast(id, DType::kFloat32, graph_.value(id).name + "_f32");
    return found->second;
  }

  Result<Tensor>
  half_constant(const Tensor& tensor, NodeId reader, size_t input, const std::string& name) {
    std::vector<double> values = OCTET_TRY(tensor.to_doubles());
    const double largest = half_range(to_).largest;
    int64_t clamped = 0;
    double worst = 0;
    for (double& v : values) {
      if (!std::isfinite(v) || std::abs(v) <= largest) continue;
      ++clamped;
      worst = std::abs(v) > std::abs(worst) ? v : worst;
      v = std::copysign(largest, v);
    }
    if (clamped > 0)
      notes_.push_back({"clamp", name,
                        fmt::format("{} of {} numbers, up to {:.4g}, become {:.6g}: {} reads them "
                                    "as input {}",
                                    clamped, tensor.count(), worst, std::copysign(largest, worst),
                                    label(graph_, graph_.node(reader)), input),
                        false});
    return Tensor::from_doubles(to_, tensor.shape(), values);
  }

  ValueId cast(ValueId id, DType type, const std::string& name) {
    Attributes attributes;
    attributes["to"].value = static_cast<int64_t>(type);
    const ValueId out = graph_.emit("Cast", {id}, std::move(attributes), graph_.unique_name(name));
    TypeInfo info = graph_.value(id).type;
    info.type = type;
    graph_.set_type(out, info);
    return out;
  }
  std::string suffix() const { return to_ == DType::kFloat16 ? "_fp16" : "_bf16"; }

  void restore_outputs() {
    std::vector<ValueId> outputs = graph_.outputs();
    for (ValueId& out : outputs) {
      if (!halves_.contains(out)) continue;
      const std::string name = graph_.value(out).name;
      const TypeInfo type = graph_.value(out).type;
      const ValueId y = cast(out, DType::kFloat32, name + "_f32");
      graph_.rename(out, name + suffix());
      graph_.rename(y, name);
      graph_.set_type(y, type);
      out = y;
    }
    graph_.set_outputs(std::move(outputs));
    for (const ValueId id : halves_) {
      TypeInfo type = graph_.value(id).type;
      type.type = to_;
      graph_.set_type(id, type);
    }
  }

  Graph& graph_;
  const PrecisionOptions& options_;
  const DType to_;
  QuantizeOptions patterns_;
  std::set<ValueId> halves_;   ///< made in 16 bits by their node
  std::set<ValueId> captured_; ///< read by bodies
  std::set<NodeId> counting_;
  std::map<ValueId, ValueId> to_half_, to_float_;
  std::vector<std::pair<ValueId, std::string>> names_; ///< new constants and their originals' names
  std::vector<ExportNote> notes_;
};

/// The least number of the type that is no smaller.
double round_up(double value, DType type) {
  double out = as_half(value, type);
  for (int k = 1; out < value && k < 8; ++k)
    out = as_half(value * (1 + k * half_range(type).precision), type);
  return out;
}

/// The range in proportion, such that parameters_for gives `rounded` and no number beside it.
Range range_with_scale(const Scheme& scheme, const Range& range, double scale, double rounded) {
  const Codes limits = codes(scheme);
  if (!scheme.symmetric) {
    const double lo = std::min(range.lo, 0.0) * (rounded / scale);
    return {lo, lo + rounded * (limits.highest - limits.lowest)};
  }
  const Codes ends = reach(scheme);
  const double lowest = rounded * ends.lowest, highest = rounded * ends.highest;
  const bool below = range.lo * ends.highest < range.hi * ends.lowest;
  // Of a range of one number the other end may come out an ulp beyond the one that gives the scale.
  const auto in_proportion = [&](double end) {
    return std::clamp(end * (rounded / scale), lowest, highest);
  };
  return {below ? lowest : in_proportion(range.lo), below ? in_proportion(range.hi) : highest};
}

} // namespace

Result<std::vector<ExportNote>> convert_precision(Graph& graph, const PrecisionOptions& options) {
  if (options.type != DType::kFloat16 && options.type != DType::kBfloat16)
    return error("precision {}: use fp16 or bf16", name(options.type));
  Graph out = graph;
  auto notes = OCTET_TRY_WITH(Converter(out, options).run(), "precision");
  graph = std::move(out);
  return notes;
}

void round_scales(QuantizationPlan& plan, DType type) {
  for (TensorPlan& tensor : plan.tensors) {
    if (!is_integer(tensor.scheme.type)) continue;
    const auto parameters = parameters_for(tensor.scheme, tensor.ranges);
    for (size_t i = 0; i < parameters.size(); ++i) {
      const auto scale = static_cast<double>(parameters[i].scale);
      const double rounded = round_up(scale, type);
      if (rounded > scale && std::isfinite(rounded) && !parameters[i].replaced)
        tensor.ranges[i] = range_with_scale(tensor.scheme, tensor.ranges[i], scale, rounded);
    }
  }
}

} // namespace octet

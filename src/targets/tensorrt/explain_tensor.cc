// SPDX-License-Identifier: Apache-2.0
// Whether it matters that TensorRT has no range for a tensor. It says so of every tensor without
// one, also of those that are never quantized. Source: docs/targets.md 3 (last paragraph).
#include <algorithm>

#include "core/format.h"
#include "core/string_util.h"
#include "ops/infer.h"
#include "targets/checks.h"

namespace octet {

namespace {

constexpr size_t kLongestName = 256;

std::string source_of(const Graph& graph, const Value& value) {
  switch (value.kind) {
  case ValueKind::kInput:
    return "input";
  case ValueKind::kConstant:
    return "constant";
  case ValueKind::kCapture:
    return "outer graph";
  case ValueKind::kNodeOutput:
    break;
  }
  const Node* node = graph.producer(value.id);
  return node == nullptr ? "nothing" : label(graph, *node);
}

constexpr size_t kNearest = 5;

/// Those of the names that are most like the text, the nearest first.
std::vector<std::string> nearest(std::string_view text, const std::vector<std::string>& names) {
  std::vector<std::pair<int, const std::string*>> all;
  all.reserve(names.size());
  for (const std::string& name : names)
    all.emplace_back(edit_distance(text, std::string_view(name).substr(0, kLongestName)), &name);
  const size_t count = std::min(kNearest, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                    [](const auto& a, const auto& b) {
                      return a.first != b.first ? a.first < b.first : *a.second < *b.second;
                    });
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i)
    out.push_back('"' + *all[i].second + '"');
  return out;
}

Result<ValueId> find_tensor(const Graph& graph, std::string_view tensor) {
  if (const auto found = graph.find_value(tensor)) return *found;
  std::vector<std::string> names;
  for (int32_t i = 0; i < graph.value_bound(); ++i)
    if (!graph.value(ValueId{i}).name.empty()) names.push_back(graph.value(ValueId{i}).name);
  return error(ErrorCode::kNotFound, "no tensor \"{}\"; the nearest of {} are {}",
               tensor.substr(0, kLongestName), names.size(),
               join(nearest(tensor.substr(0, kLongestName), names), ", "));
}

/// What the nodes beside a tensor say of it.
struct Beside {
  bool quantized = false;               ///< it is the real side of Q or DQ, or codes
  std::vector<const LayerForm*> layers; ///< those that could run in int8 on the target
};

bool is_quantizable(const TargetDef& target, const Node& node) {
  const PlacementRule* rule = target.placement->rule(node);
  return rule != nullptr &&
         (rule->treatment == Treatment::kProduct || rule->treatment == Treatment::kAround ||
          rule->treatment == Treatment::kResidual);
}

Beside look_beside(const Graph& graph,
                   const Uses& uses,
                   const TargetDef& target,
                   const std::vector<LayerForm>& layers,
                   ValueId id) {
  Beside out;
  const auto look = [&](const Node* node) {
    if (node == nullptr) return;
    if (is_qdq(*node)) out.quantized = true;
    if (!is_quantizable(target, *node)) return;
    for (const LayerForm& layer : layers)
      if (layer.id == node->id) return out.layers.push_back(&layer);
  };
  for (const Uses::Use& use : uses.of(id))
    look(&graph.node(use.node));
  look(graph.producer(id));
  return out;
}

bool has_qdq(const Graph& graph) {
  const std::vector<NodeId> nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return is_qdq(graph.node(id)); });
}

std::string said(const LayerForm& layer) {
  return layer.op + " \"" + layer.node + "\"";
}

/// TensorRT to 10 without Q/DQ: the calibration table is what says ranges, and this one is missing.
void without_qdq(const TargetDef& target, const Beside& beside, TensorAnswer& out) {
  const bool calibrates = target.family == TargetFamily::kTensorRt && target.version < 1100;
  out.matters = true;
  out.why = fmt::format("{} could run in int8 and stays in float for want of it",
                        said(*beside.layers.front()));
  out.fix = fmt::format("quantize the model with Q/DQ (octet quantize --target {}){}", target.name,
                        calibrates ? ", or give the tensor a range in the calibration table" : "");
}

bool runs_in_8_bits(const LayerForm& layer) {
  return layer.precision == LayerPrecision::kInt8 || layer.precision == LayerPrecision::kFp8;
}

/// A file with Q/DQ: each layer says for itself how it runs. Q/DQ on this very tensor would mend
/// it, or something else would.
void with_qdq(const Beside& beside, TensorAnswer& out) {
  const LayerForm* other = nullptr;
  for (const LayerForm* layer : beside.layers) {
    if (runs_in_8_bits(*layer)) continue;
    if (std::find(layer->wants_codes.begin(), layer->wants_codes.end(), out.tensor) !=
        layer->wants_codes.end()) {
      out.matters = true;
      out.why = fmt::format("{} does not run in int8: {}", said(*layer), layer->why);
      out.fix = layer->mend;
      return;
    }
    if (other == nullptr) other = layer;
  }
  if (other == nullptr) {
    out.why = fmt::format("{} runs in {} without it: {}", said(*beside.layers.front()),
                          beside.layers.front()->precision_name(), beside.layers.front()->why);
    return;
  }
  out.why =
      fmt::format("{} does not run in int8, but not for want of it: {}", said(*other), other->why);
  out.fix = other->mend;
}

/// Who prints the sentence at all.
std::string_view preface(const TargetDef& target) {
  if (target.family != TargetFamily::kTensorRt)
    return "only TensorRT to version 10 prints that sentence, this target never; ";
  return target.version >= 1100 ? "TensorRT 11 has no calibration and never prints that sentence; "
                                : "";
}

} // namespace

Result<TensorAnswer>
explain_tensor(const Graph& graph, std::string_view tensor, std::string_view target) {
  const auto def = OCTET_TRY_WITH(find_target(target), "explain");
  Graph typed = graph;
  OCTET_TRY_WITH(infer_types(typed), "explain");
  const ValueId id = OCTET_TRY(find_tensor(typed, tensor));
  const Value& value = typed.value(id);
  const Uses uses(typed);
  TensorAnswer out;
  out.tensor = value.name;
  out.producer = source_of(typed, value);
  for (const Uses::Use& use : uses.of(id))
    out.consumers.push_back(label(typed, typed.node(use.node)));
  const std::vector<LayerForm> layers = OCTET_TRY(explain(typed, target));
  const Beside beside = look_beside(typed, uses, *def, layers, id);
  const DType type = value.type.type;
  if (beside.quantized) {
    out.why = "it has Q or DQ, which say its scale: a file with Q/DQ needs no ranges";
  } else if (value.is_constant()) {
    out.why = "it is a constant: weights are quantized from their values";
  } else if (type != DType::kUndefined && !is_float(type)) {
    out.why =
        fmt::format("it holds {}: shapes, indices and conditions are never quantized", name(type));
  } else if (beside.layers.empty()) {
    out.why = "no layer that runs in int8 makes it or reads it";
  } else if (has_qdq(typed)) {
    with_qdq(beside, out);
  } else {
    without_qdq(*def, beside, out);
  }
  out.why = std::string(preface(*def)) + out.why;
  return out;
}

} // namespace octet

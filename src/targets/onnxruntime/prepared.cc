// SPDX-License-Identifier: Apache-2.0
#include "targets/onnxruntime/prepared.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/format.h"
#include "ops/value_range.h"
#include "targets/checks.h"
#include "targets/onnxruntime/releases.h"

namespace octet {

namespace {

/// The first release that leaves a Pad before a MaxPool alone.
constexpr int kPadBeforeMaxPoolSince = 132;
/// More is no Pad that anything runs; sums of two are far from overflow.
constexpr int64_t kMostPadding = int64_t{1} << 40;

bool is_neutral(const Graph& graph, const Node& node) {
  const bool either = node.is("Add") || node.is("Mul");
  if ((!either && !node.is("Sub") && !node.is("Div")) || !node.input(1).valid()) return false;
  const double neutral = node.is("Add") || node.is("Sub") ? 0 : 1;
  const auto holds = [&](size_t input) {
    const Tensor* value = graph.constant(node.input(input));
    return value != nullptr && value->count() == 1 && value->at(0) == neutral;
  };
  return holds(1) || (either && holds(0));
}

/// From 0 to as far as an integer goes: other ends are not compared with the shape.
bool takes_all(const Graph& graph, const Node& slice) {
  const auto all = [&](size_t input, int64_t wanted) {
    const Tensor* values = graph.constant(slice.input(input));
    if (values == nullptr || values->type() != DType::kInt64) return false;
    const Tensor aligned = values->aligned();
    const auto numbers = aligned.data<int64_t>();
    return std::all_of(numbers.begin(), numbers.end(), [&](int64_t v) { return v == wanted; });
  };
  return all(1, 0) && all(2, std::numeric_limits<int64_t>::max()) &&
         (!slice.input(4).valid() || all(4, 1));
}

/// The input that an operator hands on where its output has the same shape; invalid: none.
ValueId handed_on(const Graph& graph, const Uses& uses, const Node& node) {
  if (!node.input(0).valid()) return {};
  if (node.is("Identity")) return node.input(0);
  if (node.is("Cast")) {
    const DType type = graph.value(node.input(0)).type.type;
    const bool same = static_cast<int64_t>(type) == node.attr_int("to", 0);
    return same && type != DType::kUndefined ? node.input(0) : ValueId{};
  }
  if (node.is("Dropout")) {
    const Tensor* training = node.input(2).valid() ? graph.constant(node.input(2)) : nullptr;
    const bool trains = node.input(2).valid() &&
                        (training == nullptr || training->count() != 1 || training->at(0) != 0);
    const bool masks = node.output(1).valid() && uses.count(node.output(1)) > 0;
    return trains || masks ? ValueId{} : node.input(0);
  }
  if (is_neutral(graph, node)) return node.input(graph.constant(node.input(1)) != nullptr ? 0 : 1);
  if (node.is("Expand") || (node.is("Slice") && takes_all(graph, node))) return node.input(0);
  return {};
}

/// Where the value is of the type and shape of what the operator hands on.
bool is_kept(const Graph& graph, ValueId in, ValueId out) {
  const TypeInfo &a = graph.value(in).type, &b = graph.value(out).type;
  return a.type == b.type && a.shape && b.shape && *a.shape == *b.shape;
}

bool is_dropped(const Graph& graph, const Uses& uses, const Node& node) {
  if (node.outputs.empty() || !node.output(0).valid() || graph.is_output(node.output(0)))
    return false;
  const ValueId in = handed_on(graph, uses, node);
  if (!in.valid()) return false;
  return node.is("Identity") || node.is("Cast") || node.is("Dropout") ||
         is_kept(graph, in, node.output(0));
}

/// What a Pad of zeros adds around height and width: all begins, all ends.
std::optional<std::vector<int64_t>> zeros_around(const Graph& graph, const Node& pad) {
  if (pad.attr_string("mode", "constant") != "constant" || pad.input(3).valid() ||
      !pad.input(0).valid())
    return std::nullopt;
  double value = pad.attr_float("value", 0);
  if (pad.input(2).valid()) {
    const Tensor* fill = graph.constant(pad.input(2));
    if (fill == nullptr || fill->count() != 1) return std::nullopt;
    value = fill->at(0);
  }
  if (value != 0 || std::signbit(value)) return std::nullopt;
  std::vector<int64_t> all = pad.attr_ints("pads");
  if (pad.input(1).valid()) {
    const Tensor* pads = graph.constant(pad.input(1));
    if (pads == nullptr || pads->type() != DType::kInt64) return std::nullopt;
    const auto values = pads->aligned();
    all.assign(values.data<int64_t>().begin(), values.data<int64_t>().end());
  }
  if (all.size() < 6 || all.size() % 2 != 0) return std::nullopt;
  const size_t rank = all.size() / 2;
  std::vector<int64_t> out;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] < 0 || all[i] > kMostPadding || (i % rank < 2 && all[i] != 0)) return std::nullopt;
    if (i % rank >= 2) out.push_back(all[i]);
  }
  return out;
}

} // namespace

std::optional<OnnxRuntimeMergedPad>
onnxruntime_merged_pad(const Graph& graph, const Uses& uses, const Node& layer) {
  const bool average = layer.is("AveragePool");
  if (!average && !layer.is("Conv") && !layer.is("MaxPool")) return std::nullopt;
  const Node* pad = layer.input(0).valid() ? graph.producer(layer.input(0)) : nullptr;
  if (pad == nullptr || !pad->is("Pad") || !uses.single_consumer(pad->output(0)).valid() ||
      layer.attr_string("auto_pad", "NOTSET") != "NOTSET")
    return std::nullopt;
  auto pads = zeros_around(graph, *pad);
  if (!pads) return std::nullopt;
  const std::vector<int64_t> own = layer.attr_ints("pads");
  const bool has_own = std::any_of(own.begin(), own.end(), [](int64_t p) { return p != 0; });
  if (std::any_of(own.begin(), own.end(), [](int64_t p) { return p < 0 || p > kMostPadding; }))
    return std::nullopt;
  if ((has_own && own.size() != pads->size()) ||
      (average && has_own && layer.attr_int("count_include_pad", 0) == 0))
    return std::nullopt;
  for (size_t i = 0; has_own && i < own.size(); ++i)
    (*pads)[i] += own[i];
  return OnnxRuntimeMergedPad{pad, std::move(*pads)};
}

std::string onnxruntime_misread_pad(const Graph& graph,
                                    const TargetDef& target,
                                    const Node& layer,
                                    const OnnxRuntimeMergedPad& merged) {
  const bool largest = layer.is("MaxPool");
  if (is_cuda(target) || layer.is("Conv") || (largest && target.version >= kPadBeforeMaxPoolSince))
    return {};
  const std::vector<int64_t> kernel = layer.attr_ints("kernel_shape");
  for (size_t i = 0; i < merged.pads.size() && !kernel.empty(); ++i)
    if (merged.pads[i] >= kernel[i % kernel.size()])
      return "does not load the file: \"Pad should be smaller than kernel\"";
  if (!largest || range_of(graph, merged.pad->input(0)).lo >= 0) return {};
  const DType type = graph.value(merged.pad->input(0)).type.type;
  if (type == DType::kUint8) return {};
  return "pads with the lowest value where the Pad has 0: other numbers, without a word, where a "
         "window holds negative values alone";
}

std::optional<Graph> onnxruntime_prepared(const Graph& graph, const TargetDef& target) {
  if (target.family != TargetFamily::kOnnxRuntime || is_cuda(target)) return std::nullopt;
  const std::vector<NodeId> nodes = graph.nodes();
  const bool any = std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    return is_qdq(graph.node(id)); // else no rule asks
  });
  if (!any) return std::nullopt;
  const Uses uses(graph);
  std::optional<Graph> out;
  const auto prepared = [&]() -> Graph& {
    if (!out) out = graph;
    return *out;
  };
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    if (!is_dropped(graph, uses, node)) continue;
    // What it hands on may have gone before.
    const size_t input = node.input(0) == handed_on(graph, uses, node) ? 0 : 1;
    prepared().replace_uses(node.output(0), prepared().node(id).input(input));
    prepared().remove_node(id);
  }
  const Uses left(out ? *out : graph);
  for (const NodeId id : nodes) {
    if (out && !out->alive(id)) continue;
    const Graph& now = out ? *out : graph;
    const Node& layer = now.node(id);
    const auto merged = onnxruntime_merged_pad(now, left, layer);
    if (!merged || (layer.is("MaxPool") && target.version >= kPadBeforeMaxPoolSince) ||
        !onnxruntime_misread_pad(now, target, layer, *merged).empty())
      continue;
    const NodeId pad = merged->pad->id;
    prepared().mutable_node(id).attributes["pads"].value = merged->pads;
    prepared().set_node_input(id, 0, prepared().node(pad).input(0));
    prepared().remove_node(pad);
  }
  return out;
}

} // namespace octet

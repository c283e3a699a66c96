// SPDX-License-Identifier: Apache-2.0
#include "view/measured.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "ops/evaluate.h"
#include "ops/qdq/site.h"
#include "report/value_histogram.h"

namespace octet::view {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMostElementsOfOne = int64_t{1} << 22, kMostElementsOfAll = int64_t{1} << 27;
constexpr qdq::Reading kAllGrids{
    .most = qdq::Reading::Most::kAny, .written_zero = false, .folded = true};
constexpr size_t kBars = 60, kDrawnChannels = 64;

Json channels_json(const std::vector<double>& channels) {
  Json out = Json::array();
  const size_t each = std::max<size_t>((channels.size() + kDrawnChannels - 1) / kDrawnChannels, 1);
  for (size_t i = 0; i < channels.size(); i += each)
    out.push_back(shown(*std::max_element(
        channels.begin() + static_cast<ptrdiff_t>(i),
        channels.begin() + static_cast<ptrdiff_t>(std::min(i + each, channels.size())))));
  return out;
}

enum class Beside : uint8_t { kItself, kOther };

Json view_json(const TensorView& view, Beside beside) {
  const ValueHistogram bars = value_histogram(view, kBars);
  Json out = {{"least", shown(view.lowest())},
              {"largest", shown(view.highest())},
              {"from", shown(bars.low)},
              {"to", shown(bars.high)}};
  for (const double count : bars.counts)
    out["counts"].push_back(static_cast<int64_t>(count));
  if (beside == Beside::kOther) {
    out["sqnr"] = shown(view.sqnr_db());
    out["cosine"] = shown(view.cosine());
    out["max_error"] = shown(view.max_error());
  }
  if (const auto range = view.grid_range();
      range && std::isfinite(range->lo) && std::isfinite(range->hi)) {
    out["grid"] = {shown(range->lo), shown(range->hi)};
    out["saturated"] = shown(view.saturated());
    if (const auto alone = view.sqnr_alone_db()) out["alone"] = shown(*alone);
    if (const auto used = view.grid_used()) out["used"] = shown(*used);
    if (view.grid()->per_tensor()) out["step"] = shown(view.grid()->scale_at(0));
  }
  if (view.channels().size() > 1) {
    out["channel_count"] = view.channels().size();
    out["channels"] = channels_json(view.channels());
  }
  for (const OutlierChannel& channel : view.outliers(3))
    out["outliers"].push_back({channel.channel, shown(channel.magnitude), shown(channel.ratio)});
  return out;
}

void add_view(const TensorView& view, std::string_view name, Beside beside, Picture& to) {
  if (view.elements() == 0) return;
  const auto found = to.value_named.find(name);
  if (found == to.value_named.end()) return;
  to.values[static_cast<size_t>(found->second)].facts["seen"] = view_json(view, beside);
}

} // namespace

ModelPairs pairs_within(const Graph& graph) {
  ModelPairs out;
  std::set<ValueId> known;
  const auto add = [&](ValueId real, ValueId other, const std::optional<qdq::Grid>& grid) {
    if (graph.constant(real) != nullptr || !known.insert(real).second) return;
    ValuePair pair;
    pair.value = graph.value(real).name;
    pair.in_float = real;
    pair.in_quantized = other;
    pair.grid = grid;
    if (grid) pair.codes = grid->code_range().value_or(CodeRange{0, 0});
    out.values.push_back(std::move(pair));
  };
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (!is_quantize(node) || !node.output(0).valid() || constant_value(graph, node.input(0)))
      continue;
    if (const auto grid = qdq::grid_of(graph, node, kAllGrids))
      add(node.input(0), node.output(0), *grid);
  }
  const auto add_float = [&](ValueId id) {
    const Node* maker = graph.producer(id);
    const bool coded = maker != nullptr && (is_qdq(*maker) || maker->is("Constant"));
    if (!coded && is_float(graph.value(id).type.type)) add(id, id, std::nullopt);
  };
  for (const ValueId id : graph.inputs())
    add_float(id);
  for (const NodeId id : graph.nodes())
    for (const ValueId made : graph.node(id).outputs)
      if (made.valid()) add_float(made);
  return out;
}

Result<std::vector<TensorView>> look_at_constants(const Graph& graph) {
  std::vector<TensorView> out;
  std::set<ValueId> known;
  int64_t left = kMostElementsOfAll;
  for (const NodeId id : graph.nodes()) {
    const Node& reader = graph.node(id);
    if (is_qdq(reader)) continue;
    for (const ValueId read : reader.inputs) {
      if (!read.valid() || !known.insert(read).second) continue;
      const Node* maker = graph.producer(read);
      const bool coded = maker != nullptr && is_dequantize(*maker);
      const Tensor* plain = graph.constant(read);
      if (!coded && plain == nullptr) continue;
      const TypeInfo& type =
          plain != nullptr ? tensor_type(plain->type(), plain->shape()) : graph.value(read).type;
      const auto shape = type.static_shape();
      if (!shape || shape->size() < 2 || !is_float(type.type)) continue;
      int64_t elements = 1;
      for (const int64_t extent : *shape)
        elements *= extent;
      if (elements == 0 || elements > kMostElementsOfOne || elements > left) continue;
      std::optional<qdq::Grid> grid;
      std::optional<Tensor> other;
      if (coded) {
        const auto found = qdq::grid_of(graph, *maker, kAllGrids);
        other = constant_value(graph, maker->input(0));
        if (!found || !other) continue;
        grid = *found;
      }
      const Node* quantize = coded ? graph.producer(maker->input(0)) : nullptr;
      std::optional<Tensor> wanted = quantize != nullptr && is_quantize(*quantize)
                                         ? constant_value(graph, quantize->input(0))
                                     : plain != nullptr ? std::optional(*plain)
                                                        : constant_value(graph, read);
      if (!wanted) continue;
      left -= elements;
      const int64_t last = -1, first = shape->size() >= 3 ? 0 : last;
      const int64_t axis = grid && grid->axis ? *grid->axis : first;
      const CodeRange codes = grid ? grid->code_range().value_or(CodeRange{0, 0}) : CodeRange{0, 0};
      out.emplace_back(graph.value(read).name, grid, codes, axis);
      OCTET_TRY(out.back().add(*wanted, other ? *other : *wanted));
    }
  }
  return out;
}

void add_views(std::span<const TensorView> views, Picture& to) {
  for (const TensorView& view : views)
    add_view(view, view.value(), Beside::kItself, to);
}

void add_views(const ModelPairs& pairs, const Looked& looked, const Graph& quantized, Picture& to) {
  for (size_t i = 0; i < pairs.values.size(); ++i) {
    const ValuePair& pair = pairs.values[i];
    ValueId at = pair.in_quantized;
    if (const Node* maker = quantized.producer(at);
        pair.grid && maker != nullptr && is_quantize(*maker))
      at = maker->input(0);
    add_view(looked.values[i], quantized.value(at).name, Beside::kOther, to);
  }
  for (size_t i = 0; i < pairs.weights.size(); ++i)
    add_view(looked.weights[i], quantized.value(pairs.weights[i].in_quantized).name, Beside::kOther,
             to);
}

void add_times(const std::vector<PlannedNode>& plan, std::span<const double> ms, Picture& to) {
  const auto find = [&](std::string_view name) -> PictureNode* {
    const auto found = to.node_named.find(name);
    if (found == to.node_named.end()) return nullptr;
    PictureNode& node = to.nodes[static_cast<size_t>(found->second)];
    return node.drawn ? &node : nullptr;
  };
  for (size_t i = 0; i < plan.size(); ++i) {
    if (ms[i] <= 0) continue;
    PictureNode* most = nullptr;
    const auto work = [](const PictureNode& node) { return node.facts.value("work", int64_t{0}); };
    for (const std::string& name : plan[i].origin)
      if (PictureNode* node = find(name);
          node != nullptr && (most == nullptr || work(*node) > work(*most)))
        most = node;
    if (most == nullptr) { // as it is labelled: Op "name"
      const std::string& label = plan[i].node;
      const size_t begin = label.find('"'), end = label.rfind('"');
      if (begin < end && end != std::string::npos)
        most = find(std::string_view(label).substr(begin + 1, end - begin - 1));
    }
    if (most == nullptr) continue;
    most->facts["ms"] = shown(most->facts.value("ms", 0.0) + ms[i]);
    if (!most->facts.contains("kernel")) most->facts["kernel"] = plan[i].kernel;
  }
}

} // namespace octet::view

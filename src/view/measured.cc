// SPDX-License-Identifier: Apache-2.0
#include "view/measured.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/format.h"
#include "graph/bodies.h"
#include "graph/label.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "ops/qdq/site.h"
#include "report/value_histogram.h"
#include "view/facts.h"

namespace octet::view {
namespace {

using Json = nlohmann::ordered_json;

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

/// Looks at the constants of a graph and of its bodies.
class Constants {
 public:
  Constants(Picture& to, int64_t most) : to_(to), most_(most), left_(most) {
    for (const Scope& scope : to.scopes)
      scopes_[scope.node].push_back(&scope);
  }

  /// `key`: before the names of what is in the graph; `body`: what a body was before it stood
  /// alone.
  Status look(const Graph& graph, const std::string& key, const Graph* body = nullptr) {
    const auto captured = [&](ValueId id) {
      return body != nullptr && body->value(id).kind == ValueKind::kCapture;
    };
    for (const NodeId id : graph.nodes()) {
      const Node& reader = graph.node(id);
      for (const ValueId read : reader.inputs)
        if (read.valid() && !is_qdq(reader) && !captured(read))
          OCTET_TRY(look_at(graph, read, key));
      if (has_bodies(reader)) OCTET_TRY(look_into(graph, reader, key, captured));
    }
    return ok_status();
  }

 private:
  template <class IsCaptured>
  Status look_into(const Graph& graph, const Node& node, const std::string& key, IsCaptured&& is) {
    const auto place = to_.node_named.find(key + name_of(graph, node));
    if (place == to_.node_named.end()) return ok_status();
    const BodyTypes types = types_into_bodies(graph, node);
    auto scope = scopes_[place->second].begin();
    for (const Body& body : bodies_of(node)) {
      if (body.graph == nullptr) continue;
      for (int32_t i = 0; i < body.graph->value_bound(); ++i)
        if (const Value& v = body.graph->value(ValueId{i});
            v.kind == ValueKind::kCapture && !is(v.captured))
          OCTET_TRY(look_at(graph, v.captured, key));
      Graph typed = typed_body(graph, *body.graph, types);
      OCTET_TRY(infer_types(typed));
      OCTET_TRY(look(typed, (*scope++)->key, body.graph.get()));
    }
    return ok_status();
  }

  Status look_at(const Graph& graph, ValueId read, const std::string& key) {
    const auto shown_value = to_.value_named.find(key + graph.value(read).name);
    if (shown_value == to_.value_named.end()) return ok_status();
    Json& facts = to_.values[static_cast<size_t>(shown_value->second)].facts;
    if (facts.contains("seen") || facts.contains("unseen")) return ok_status();
    const Node* maker = graph.producer(read);
    const bool coded = maker != nullptr && is_dequantize(*maker);
    const Tensor* plain = graph.constant(read);
    if (!coded && plain == nullptr) return ok_status();
    const TypeInfo& type =
        plain != nullptr ? tensor_type(plain->type(), plain->shape()) : graph.value(read).type;
    const auto shape = type.static_shape();
    if (!shape || shape->size() < 2 || !is_float(type.type)) return ok_status();
    const int64_t elements = OCTET_TRY(element_count(*shape));
    std::optional<qdq::Grid> grid;
    const Node* quantize = nullptr;
    if (coded) {
      const auto found = qdq::grid_of(graph, *maker, kAllGrids);
      if (!found) return ok_status();
      grid = *found;
      const Node* before = graph.producer(maker->input(0));
      if (before != nullptr && is_quantize(*before)) quantize = before;
    }
    if (elements == 0) return ok_status();
    if (elements > left_) {
      facts["unseen"] =
          fmt::format("no histogram: the page has those of {} weights at most", most_);
      return ok_status();
    }
    const int64_t first = shape->size() >= 3 ? 0 : -1;
    const int64_t axis = grid && grid->axis ? *grid->axis : first;
    const CodeRange codes = grid ? grid->code_range().value_or(CodeRange{0, 0}) : CodeRange{0, 0};
    TensorView view(graph.value(read).name, grid, codes, axis);
    const ValueId source = quantize != nullptr ? quantize->input(0)
                           : coded             ? maker->input(0)
                                               : read;
    const Tensor* stored = graph.constant(source);
    const std::optional<Tensor> numbers =
        stored != nullptr ? std::optional(*stored) : constant_value(graph, source);
    if (!numbers) return ok_status();
    left_ -= elements;
    OCTET_TRY(coded && quantize == nullptr ? view.add_codes(*numbers, type.type)
                                           : view.add_alone(*numbers));
    if (view.elements() > 0) facts["seen"] = view_json(view, Beside::kItself);
    return ok_status();
  }

  Picture& to_;
  std::map<int32_t, std::vector<const Scope*>> scopes_; ///< by the node that has the bodies
  int64_t most_, left_;
};

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

Status look_at_constants(const Graph& graph, Picture& to, int64_t most) {
  return Constants(to, most).look(graph, "");
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

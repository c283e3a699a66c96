// SPDX-License-Identifier: Apache-2.0
#include "view/picture.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "core/format.h"
#include "graph/bodies.h"
#include "graph/label.h"
#include "ops/infer.h"
#include "ops/qdq/site.h"
#include "report/graph_view.h"
#include "view/facts.h"

namespace octet::view {
namespace {

using Json = nlohmann::ordered_json;

/// Adds a graph, or a body of a node, to a picture.
class GraphPicture {
 public:
  GraphPicture(Picture& out, Codes codes) : out_(out), codes_(codes) {}

  Status run(const Graph& graph) {
    views_.push_back(
        OCTET_TRY(view_graph(graph, out_.targets.empty() ? "" : out_.targets.front())));
    for (size_t t = 1; t < out_.targets.size(); ++t)
      views_.push_back(OCTET_TRY(view_graph(graph, out_.targets[t])));
    typed_ = graph;
    OCTET_TRY(infer_types(typed_));
    OCTET_TRY(add_nodes());
    add_all_codes();
    add_edges();
    add_folded_findings();
    add_findings_elsewhere();
    return ok_status();
  }

 private:
  /// What a value holds was made: by a node of the picture, or not (-1: an input, -2: a constant).
  struct Source {
    int32_t from = -1;
    GraphPicture* in = nullptr;
    ValueId made;
  };

  Status add_nodes() {
    for (const GraphView::Value& value : views_.front().values)
      viewed_.emplace(value.name, &value);
    place_.assign(static_cast<size_t>(typed_.value_bound()), -1);
    maker_.assign(static_cast<size_t>(typed_.value_bound()), -1);
    order_ = OCTET_TRY(typed_.topological());
    first_ = out_.nodes.size();
    for (size_t i = 0; i < order_.size(); ++i)
      add_node(typed_.node(order_[i]), i);
    for (size_t i = 0; i < order_.size(); ++i)
      if (has_bodies(typed_.node(order_[i])))
        OCTET_TRY(add_bodies(typed_.node(order_[i]), static_cast<int32_t>(first_ + i)));
    return ok_status();
  }

  Status add_bodies(const Node& node, int32_t place) {
    const BodyTypes types = types_into_bodies(typed_, node);
    std::map<std::string, int> counts, number;
    for (const Body& body : bodies_of(node))
      ++counts[body.key];
    for (const Body& body : bodies_of(node)) {
      const int nth = number[body.key]++;
      bodies_.emplace(node.id, nullptr);
      if (body.graph == nullptr) continue;
      const std::string name =
          counts[body.key] > 1 ? fmt::format("{}[{}]", body.key, nth) : body.key;
      const std::string key =
          out_.key(scope_, out_.nodes[static_cast<size_t>(place)].name) + '\n' + name + '\n';
      auto inside = std::make_unique<GraphPicture>(out_, codes_);
      inside->outer_ = this;
      inside->owner_ = place;
      inside->scope_ = static_cast<int32_t>(out_.scopes.size());
      out_.scopes.push_back({place, name, key});
      const auto add = [&]() -> Status {
        inside->typed_ = typed_body(typed_, *body.graph, types);
        OCTET_TRY(infer_types(inside->typed_));
        inside->captured_.assign(static_cast<size_t>(inside->typed_.value_bound()), {});
        for (int32_t i = 0; i < body.graph->value_bound(); ++i)
          if (const Value& v = body.graph->value(ValueId{i}); v.kind == ValueKind::kCapture)
            inside->captured_[static_cast<size_t>(i)] = v.captured;
        inside->views_.push_back(OCTET_TRY(view_graph(inside->typed_)));
        return inside->add_nodes();
      };
      OCTET_TRY_WITH(add(), fmt::format("{} of {}", name, label(typed_, node)));
      Json takes = Json::array(), gives = Json::array();
      for (const ValueId id : inside->typed_.inputs())
        takes.push_back(inside->value(id));
      for (const ValueId id : inside->typed_.outputs())
        gives.push_back(inside->value(id));
      out_.nodes[static_cast<size_t>(place)].facts["bodies"].push_back(
          {{"name", name}, {"takes", std::move(takes)}, {"gives", std::move(gives)}});
      std::prev(bodies_.upper_bound(node.id))->second = std::move(inside);
    }
    return ok_status();
  }

  ValueId captured(ValueId id) const {
    return captured_.empty() ? ValueId{} : captured_[static_cast<size_t>(id.index)];
  }

  bool is_folded(const Node& node) const {
    return node.is("Constant") || (codes_ == Codes::kFolded && is_qdq(node));
  }

  int32_t value(ValueId id) {
    if (!id.valid()) return -1;
    int32_t& place = place_[static_cast<size_t>(id.index)];
    if (place >= 0) return place;
    if (const ValueId outside = captured(id); outside.valid())
      return place = outer_->value(outside);
    place = static_cast<int32_t>(out_.values.size());
    const std::string& name = typed_.value(id).name;
    PictureValue made{name, Json::object()};
    if (const auto view = viewed_.find(name); view != viewed_.end()) {
      made.facts["kind"] = view->second->kind;
      if (outer_ != nullptr && view->second->kind != "node" && view->second->kind != "constant")
        made.facts["kind"] =
            view->second->kind + " of " + out_.scopes[static_cast<size_t>(scope_)].name;
      made.facts["type"] = view->second->type;
      if (view->second->bytes > 0) made.facts["bytes"] = view->second->bytes;
    }
    out_.values.push_back(std::move(made));
    out_.value_named.emplace(out_.key(scope_, name), place);
    return place;
  }

  void add_node(const Node& node, size_t index) {
    const GraphView::Node& view = views_.front().nodes[index];
    PictureNode made{view.name, view.name, view.op,        !is_folded(node),
                     {},        {},        Json::object(), scope_};
    const auto place = static_cast<int32_t>(out_.nodes.size());
    for (const ValueId id : node.outputs)
      if (id.valid()) maker_[static_cast<size_t>(id.index)] = place;
    if (made.drawn) {
      for (const ValueId id : node.inputs)
        made.inputs.push_back(value(id));
      for (const ValueId id : node.outputs)
        made.outputs.push_back(value(id));
      if (!view.domain.empty()) made.facts["domain"] = view.domain;
      if (!node.attributes.empty()) made.facts["attributes"] = attributes_json(node);
      if (!node.doc.empty()) made.facts["doc"] = clipped(node.doc);
      if (view.bytes > 0) made.facts["bytes"] = view.bytes;
      if (view.work > 0) made.facts["work"] = view.work;
      if (!views_.front().target.empty())
        for (const GraphView& each : views_)
          made.facts["on"].push_back(on_target(each.nodes[index]));
    }
    out_.node_named.emplace(out_.key(scope_, made.name), place);
    out_.nodes.push_back(std::move(made));
  }

  void add_all_codes() {
    for (const auto& [node, body] : bodies_)
      if (body != nullptr) body->add_all_codes();
    for (const NodeId id : order_)
      add_codes(typed_.node(id));
  }

  /// What a Q or DQ says, at the numbers on its one side and on its other.
  void add_codes(const Node& node) {
    if (!is_qdq(node)) return;
    const auto grid = qdq::grid_of(
        typed_, node, {.most = qdq::Reading::Most::kAny, .written_zero = false, .folded = true});
    for (const ValueId id : {node.input(0), node.output(0)}) {
      if (!id.valid() || place_[static_cast<size_t>(id.index)] < 0) continue;
      Json& facts = out_.values[static_cast<size_t>(place_[static_cast<size_t>(id.index)])].facts;
      if (grid)
        facts["grid"] = grid_json(*grid);
      else
        facts["no_grid"] = qdq::text(grid.why());
      if (is_dequantize(node) && id == node.output(0)) facts["behind"] = 1;
    }
  }

  /// Findings of what is folded belong to who makes the numbers, else to who reads them.
  void add_folded_findings() {
    if (views_.front().target.empty()) return;
    for (size_t t = 0; t < views_.size(); ++t)
      for (size_t i = 0; i < order_.size(); ++i)
        if (!out_.nodes[i].drawn)
          for (const Finding& finding : views_[t].nodes[i].findings)
            add_finding(t, finding, drawn_beside(typed_.node(order_[i])));
  }

  /// `at` -1: of the model as a whole.
  void add_finding(size_t target, const Finding& finding, int32_t at, bool own = false) {
    Json found = finding_json(finding);
    if (!own) found["at"] = finding.node;
    if (at >= 0) {
      on(target, at)["findings"].push_back(std::move(found));
      return;
    }
    out_.findings.resize(out_.targets.size(), Json::array());
    out_.findings[target].push_back(std::move(found));
  }

  Json& on(size_t target, int32_t node) {
    Json& all = out_.nodes[static_cast<size_t>(node)].facts["on"];
    while (all.size() < out_.targets.size())
      all.push_back(Json::object());
    return all[target];
  }

  void add_findings_elsewhere() {
    for (size_t t = 0; t < views_.size(); ++t)
      for (const PlacedFinding& found : views_[t].elsewhere) {
        GraphPicture* in = this;
        for (const BodyStep& step : found.place.bodies)
          in = in->body(step);
        in->add_finding_here(t, found);
      }
  }

  GraphPicture* body(const BodyStep& step) {
    return std::next(bodies_.lower_bound(step.node), static_cast<ptrdiff_t>(step.body))
        ->second.get();
  }

  /// Explain says nothing of nodes in bodies: that one is refused is told here, as explain does.
  void add_finding_here(size_t target, const PlacedFinding& found) {
    const auto [finding, place] = found;
    const int32_t at = node_place(place.node);
    if (at < 0) {
      add_finding(target, finding, owner_);
      return;
    }
    const bool drawn = out_.nodes[static_cast<size_t>(at)].drawn;
    add_finding(target, finding, drawn ? at : drawn_beside(typed_.node(place.node)), drawn);
    if (finding.severity != Severity::kError) return;
    for (const NodeId id : layers_around(typed_, uses(), place.node)) {
      const int32_t layer = node_place(id);
      if (layer < 0 || !out_.nodes[static_cast<size_t>(layer)].drawn) continue;
      Json& said = on(target, layer);
      if (said.contains("precision")) continue;
      said["precision"] = name(LayerPrecision::kRefused);
      said["form"] = typed_.node(id).op_type;
      said["why"] = refusal_text(finding);
      if (!finding.fix.empty()) said["mend"] = finding.fix;
      if (!finding.source.empty()) said["source"] = finding.source;
    }
  }

  /// In the picture; -1: none of this graph.
  int32_t node_place(NodeId id) const {
    const auto found = std::find(order_.begin(), order_.end(), id);
    if (found == order_.end()) return -1;
    return static_cast<int32_t>(first_) + static_cast<int32_t>(found - order_.begin());
  }

  const Uses& uses() {
    if (!uses_) uses_.emplace(typed_);
    return *uses_;
  }

  /// In this graph; where nothing is, what made the numbers elsewhere.
  int32_t drawn_beside(const Node& node) {
    const int32_t from = node.input(0).valid() ? source_of(node.input(0)).from : -1;
    const auto first = static_cast<int32_t>(first_);
    if (from >= first && from < first + std::ssize(order_)) return from;
    ValueId at = node.output(0);
    for (size_t steps = 0; at.valid() && steps < out_.nodes.size(); ++steps) {
      const auto readers = uses().of(at);
      if (readers.empty()) break;
      const Node& reader = typed_.node(readers.front().node);
      if (!reader.output(0).valid()) break;
      const int32_t place = maker_[static_cast<size_t>(reader.output(0).index)];
      if (place >= 0 && out_.nodes[static_cast<size_t>(place)].drawn) return place;
      at = reader.output(0);
    }
    return from >= 0 ? from : owner_;
  }

  /// Through codes that are folded, and out of bodies.
  Source source_of(ValueId id) {
    for (;;) {
      if (const ValueId outside = captured(id); outside.valid()) return outer_->source_of(outside);
      const Value& at = typed_.value(id);
      if (at.kind == ValueKind::kInput) return {owner_, this, id};
      const int32_t maker = maker_[static_cast<size_t>(id.index)];
      if (maker < 0) return {-2, this, id};
      if (out_.nodes[static_cast<size_t>(maker)].drawn) return {maker, this, id};
      const Node& node = *typed_.producer(id);
      if (!is_qdq(node) || !node.input(0).valid()) return {-2, this, id};
      id = node.input(0);
    }
  }

  /// Of a constant that is read through codes or made by a Constant.
  void add_bytes(ValueId constant, int32_t reader) {
    const Tensor* tensor = typed_.constant(constant);
    if (tensor == nullptr || reader < 0) return;
    Json& facts = out_.nodes[static_cast<size_t>(reader)].facts;
    facts["bytes"] = facts.value("bytes", int64_t{0}) + std::ssize(tensor->bytes());
  }

  void add_edge(ValueId read, int32_t to) {
    if (typed_.value(read).is_constant()) return; // told where it is read
    const auto [from, in, made] = source_of(read);
    if (from == to && from >= 0) return; // an input of a body that the body gives as it is
    const int32_t target = value(read);
    if (from == -2) {
      in->add_bytes(made, to);
      if (const std::string& stored = in->typed_.value(made).name;
          in->place_[static_cast<size_t>(made.index)] != target)
        out_.values[static_cast<size_t>(target)].facts["stored"] = stored;
      return;
    }
    const int32_t source = in->value(made);
    out_.edges.push_back({from, to, source, target});
    if (source != target) out_.values[static_cast<size_t>(target)].facts["of"] = source;
  }

  void add_edges() {
    for (size_t i = 0; i < order_.size(); ++i) {
      if (!out_.nodes[first_ + i].drawn) continue;
      for (const ValueId id : typed_.node(order_[i]).inputs)
        if (id.valid()) add_edge(id, static_cast<int32_t>(first_ + i));
    }
    for (const auto& [node, body] : bodies_)
      if (body != nullptr) body->add_edges();
    for (const ValueId id : typed_.outputs())
      add_edge(id, owner_);
  }

  Picture& out_;
  Codes codes_;
  Graph typed_;
  GraphPicture* outer_ = nullptr;   ///< of a body: the graph around it
  int32_t owner_ = -1, scope_ = -1; ///< of a body: the node that has it, and which it is
  std::vector<ValueId> captured_;   ///< of a body, by value: the value of `outer_` that it is
  std::vector<NodeId> order_;
  size_t first_ = 0; ///< place of the first node in the picture
  /// Those of a node in the order of its bodies_of(); null: it has none there.
  std::multimap<NodeId, std::unique_ptr<GraphPicture>> bodies_;
  std::vector<GraphView> views_; ///< by target; of a body one
  std::map<std::string_view, const GraphView::Value*> viewed_;
  std::vector<int32_t> place_; ///< by value: in the picture
  std::vector<int32_t> maker_; ///< by value: the node that makes it
  std::optional<Uses> uses_;   ///< once asked for
};

} // namespace

Result<Picture> picture_of(const Graph& graph,
                           const std::string& title,
                           const std::vector<std::string>& targets,
                           Codes codes) {
  Picture out;
  out.title = title;
  out.targets = targets;
  OCTET_TRY(GraphPicture(out, codes).run(graph));
  return out;
}

Picture picture_of(const std::vector<LayerForm>& predicted,
                   const std::vector<EngineLayer>& layers,
                   const std::vector<EngineNode>& nodes,
                   const std::vector<LayerTime>& times,
                   const std::string& title,
                   const std::vector<std::string>& targets) {
  Picture out;
  out.title = title;
  out.is_engine = true;
  out.targets = targets;
  const auto value = [&](const EngineTensor& tensor) {
    const auto [known, fresh] =
        out.value_named.emplace(tensor.name, static_cast<int32_t>(out.values.size()));
    if (fresh) {
      PictureValue made{tensor.name, {{"kind", "node"}, {"type", tensor.type}}};
      if (!tensor.format.empty()) made.facts["format"] = tensor.format;
      out.values.push_back(std::move(made));
    }
    return known->second;
  };
  const std::vector<std::string> wanted = predicted_precisions(predicted, layers, nodes);
  std::map<std::string_view, double> ms;
  for (const LayerTime& time : times)
    ms[time.layer] += time.ms;
  std::map<int32_t, int32_t> maker;
  for (size_t i = 0; i < layers.size(); ++i) {
    const EngineLayer& layer = layers[i];
    PictureNode made{layer.name,
                     layer.origin.empty() ? "" : layer.origin.front(),
                     layer.type.empty() ? "layer" : layer.type,
                     true,
                     {},
                     {},
                     Json::object()};
    for (const EngineTensor& tensor : layer.inputs)
      made.inputs.push_back(value(tensor));
    for (const EngineTensor& tensor : layer.outputs) {
      made.outputs.push_back(value(tensor));
      maker.emplace(made.outputs.back(), static_cast<int32_t>(i));
    }
    Json on = {{"precision", layer.precision.empty() ? "untold" : layer.precision},
               {"form", layer.tactic.empty() ? layer.type : layer.tactic}};
    if (!wanted[i].empty()) on["predicted"] = wanted[i];
    for (size_t t = 0; t < std::max<size_t>(targets.size(), 1); ++t)
      made.facts["on"].push_back(on);
    if (const auto time = ms.find(layer.name); time != ms.end())
      made.facts["ms"] = shown(time->second);
    if (!layer.origin.empty()) made.facts["origin"] = layer.origin;
    out.node_named.emplace(made.name, static_cast<int32_t>(i));
    out.nodes.push_back(std::move(made));
  }
  std::vector<bool> read(out.values.size(), false);
  for (size_t i = 0; i < out.nodes.size(); ++i)
    for (const int32_t input : out.nodes[i].inputs) {
      const auto from = maker.find(input);
      read[static_cast<size_t>(input)] = true;
      if (from == maker.end() || from->second != static_cast<int32_t>(i))
        out.edges.push_back(
            {from == maker.end() ? -1 : from->second, static_cast<int32_t>(i), input, input});
    }
  for (const auto& [made, node] : maker)
    if (!read[static_cast<size_t>(made)]) out.edges.push_back({node, -1, made, made});
  return out;
}

} // namespace octet::view

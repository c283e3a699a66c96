// SPDX-License-Identifier: Apache-2.0
#include "view/picture.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "core/format.h"
#include "graph/bodies.h"
#include "graph/label.h"
#include "ops/infer.h"
#include "ops/qdq/site.h"
#include "report/graph_view.h"

namespace octet::view {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostText = 240; ///< of an attribute
constexpr size_t kMostListed = 32;
constexpr int64_t kMostElements = 16;
constexpr size_t kMostChannels = 64;

std::string clipped(std::string text) {
  if (text.size() <= kMostText) return text;
  size_t end = kMostText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end; // not within a character
  return text.substr(0, end) + "...";
}

template <class T, class Text>
std::string listed(const std::vector<T>& items, Text&& text) {
  std::string out = "[";
  for (size_t i = 0; i < std::min(items.size(), kMostListed); ++i)
    out += (i > 0 ? ", " : "") + text(items[i]);
  if (items.size() > kMostListed) out += fmt::format(", ... {} in all", items.size());
  return out + "]";
}

std::string tensor_text(const Tensor& tensor) {
  std::string out = tensor_type(tensor.type(), tensor.shape()).text();
  if (tensor.count() > kMostElements || !(is_float(tensor.type()) || is_integer(tensor.type())))
    return out;
  std::vector<double> numbers;
  for (int64_t i = 0; i < tensor.count(); ++i)
    numbers.push_back(tensor.at(i));
  return out + " " + listed(numbers, [](double v) { return fmt::format("{:.6g}", v); });
}

std::string graph_text(const GraphPtr& body) {
  return body == nullptr ? "no graph" : fmt::format("a graph of {} nodes", body->nodes().size());
}

struct AttributeText {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(int64_t v) const { return fmt::format("{}", v); }
  std::string operator()(float v) const { return fmt::format("{:.6g}", v); }
  std::string operator()(const std::string& v) const { return '"' + v + '"'; }
  std::string operator()(const Tensor& v) const { return tensor_text(v); }
  std::string operator()(const GraphPtr& v) const { return graph_text(v); }
  template <class T>
  std::string operator()(const std::vector<T>& v) const {
    return listed(v, *this);
  }
  std::string operator()(const std::shared_ptr<const SerializedAttribute>&) const {
    return "kept as it is in the file";
  }
};

Json attributes_json(const Node& node) {
  Json out = Json::array();
  for (const auto& [key, attribute] : node.attributes)
    out.push_back(
        {key, clipped(attribute.reference.empty() ? std::visit(AttributeText{}, attribute.value)
                                                  : "of the function: " + attribute.reference)});
  return out;
}

Json findings_json(const std::vector<Finding>& findings) {
  Json out = Json::array();
  for (const Finding& f : findings)
    out.push_back({{"rule", f.rule},
                   {"error", f.severity == Severity::kError},
                   {"message", f.message},
                   {"fix", f.fix},
                   {"source", f.source}});
  return out;
}

/// What explain and check say of a node on one target.
Json on_target(const GraphView::Node& node) {
  Json out = Json::object();
  if (node.layer) {
    const LayerForm& layer = *node.layer;
    out = {{"precision", layer.precision_name()}, {"form", layer.form}};
    for (const auto& [key, text] : {std::pair{"fusion", &layer.fusion},
                                    {"why", &layer.why},
                                    {"mend", &layer.mend},
                                    {"source", &layer.source}})
      if (!text->empty()) out[key] = *text;
  }
  if (!node.findings.empty()) out["findings"] = findings_json(node.findings);
  return out;
}

/// Scales, or of many the least and the largest of neighbours.
Json numbers_json(const std::vector<double>& all) {
  Json out = Json::array();
  const size_t each = (all.size() + kMostChannels - 1) / kMostChannels;
  for (size_t i = 0; i < all.size(); i += std::max<size_t>(each, 1)) {
    const auto begin = all.begin() + static_cast<ptrdiff_t>(i),
               end = all.begin() + static_cast<ptrdiff_t>(std::min(i + each, all.size()));
    out.push_back(shown(*std::max_element(begin, end)));
  }
  return out;
}

Json grid_json(const qdq::Grid& grid) {
  const std::vector<double> scales = grid.scales(), zeros = grid.zeros();
  const auto [least, largest] = std::minmax_element(scales.begin(), scales.end());
  Json out = {{"codes", octet::name(grid.codes)}, {"scale", {shown(*least), shown(*largest)}}};
  const auto [low, high] = std::minmax_element(zeros.begin(), zeros.end());
  if (!zeros.empty()) out["zero"] = {shown(*low), shown(*high)};
  const Range range = grid.real_range();
  if (std::isfinite(range.lo) && std::isfinite(range.hi))
    out["range"] = {shown(range.lo), shown(range.hi)};
  if (grid.count() > 1) {
    out["count"] = grid.count();
    if (grid.axis) out["axis"] = *grid.axis;
    if (grid.block > 0) out["block"] = grid.block;
    out["scales"] = numbers_json(scales);
  }
  return out;
}

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
    add_findings();
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
      bodies_.push_back(std::move(inside));
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
    for (const std::unique_ptr<GraphPicture>& body : bodies_)
      body->add_all_codes();
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
  void add_findings() {
    if (views_.front().target.empty()) return;
    const Uses uses(typed_);
    for (size_t i = 0; i < order_.size(); ++i) {
      const bool none = std::all_of(views_.begin(), views_.end(), [i](const GraphView& view) {
        return view.nodes[i].findings.empty();
      });
      if (out_.nodes[i].drawn || none) continue;
      const int32_t at = drawn_beside(typed_.node(order_[i]), uses);
      if (at < 0) continue;
      for (size_t t = 0; t < views_.size(); ++t)
        for (const Json& finding : findings_json(views_[t].nodes[i].findings))
          out_.nodes[static_cast<size_t>(at)].facts["on"][t]["findings"].push_back(finding);
    }
  }

  int32_t drawn_beside(const Node& node, const Uses& uses) {
    if (node.input(0).valid())
      if (const Source source = source_of(node.input(0)); source.from >= 0) return source.from;
    ValueId at = node.output(0);
    for (size_t steps = 0; at.valid() && steps < out_.nodes.size(); ++steps) {
      const auto readers = uses.of(at);
      if (readers.empty()) return -1;
      const Node& reader = typed_.node(readers.front().node);
      if (!reader.output(0).valid()) return -1;
      const int32_t place = maker_[static_cast<size_t>(reader.output(0).index)];
      if (place >= 0 && out_.nodes[static_cast<size_t>(place)].drawn) return place;
      at = reader.output(0);
    }
    return -1;
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
    for (const std::unique_ptr<GraphPicture>& body : bodies_)
      body->add_edges();
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
  std::vector<std::unique_ptr<GraphPicture>> bodies_;
  std::vector<GraphView> views_; ///< by target; of a body one
  std::map<std::string_view, const GraphView::Value*> viewed_;
  std::vector<int32_t> place_; ///< by value: in the picture
  std::vector<int32_t> maker_; ///< by value: the node that makes it
};

} // namespace

double shown(double number) {
  if (!std::isfinite(number)) return number;
  return std::strtod(fmt::format("{:.6g}", number).c_str(), nullptr);
}

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
    Json notes = Json::array();
    for (const EngineNode& node : nodes)
      if (node.layer == static_cast<int64_t>(i) && node.verdict == EngineVerdict::kOtherwise &&
          !node.note.empty())
        notes.push_back(predicted[node.predicted].node + ": " + node.note);
    if (!notes.empty()) made.facts["otherwise"] = std::move(notes);
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

// SPDX-License-Identifier: Apache-2.0
#include "view/drawing.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/hash.h"

namespace octet::view {
namespace {

constexpr size_t kMostValues = 4; ///< of a wire that are told
constexpr size_t kMostPortsOfSide = kMostPorts / 2;

class Draughtsman {
 public:
  Draughtsman(std::span<const NamedNode> nodes,
              std::span<const Scope> scopes,
              std::span<const Edge> edges)
      : nodes_(nodes), scopes_(scopes), edges_(edges) {}

  Result<Drawings> run() {
    const LayoutEngine engine = OCTET_TRY(LayoutEngine::load());
    std::vector<std::pair<int32_t, int32_t>> pairs;
    for (const Edge& edge : edges_)
      if (edge.from >= 0 && edge.to >= 0) pairs.emplace_back(edge.from, edge.to);
    out_.groups = make_groups(nodes_, scopes_, pairs);
    out_.drawings.resize(groups().size());
    building_.resize(groups().size());
    find_places();
    for (const Edge& edge : edges_)
      add(edge);
    std::map<uint64_t, int32_t> layouts;
    std::vector<uint64_t> structures(groups().size());
    std::map<uint64_t, int32_t> first_alike;
    for (size_t i = groups().size(); i-- > 0;) {
      const auto g = static_cast<int32_t>(i);
      finish(g);
      structures[i] = structure_of(g, structures);
    }
    for (size_t i = 0; i < groups().size(); ++i) {
      const auto g = static_cast<int32_t>(i);
      Drawing& drawing = out_.drawings[i];
      drawing.alike = first_alike.try_emplace(structures[i], g).first->second;
      const auto [known, fresh] =
          layouts.try_emplace(form_of(g), static_cast<int32_t>(out_.layouts.size()));
      if (fresh) out_.layouts.push_back(OCTET_TRY(lay_out(engine, g)));
      drawing.layout = known->second;
    }
    return std::move(out_);
  }

 private:
  const std::vector<Group>& groups() const { return out_.groups.groups; }
  const Group& group(int32_t g) const { return groups()[static_cast<size_t>(g)]; }

  struct Building {
    int32_t depth = 0;
    std::map<int32_t, int32_t> in, out; ///< value made -> port
    std::vector<std::vector<int32_t>> in_values, out_values;
    /// Ends of a wire: members are at least 0, ports in -1 - p, ports out kOut + p.
    std::map<std::pair<int32_t, int32_t>, Wire> wires;
  };
  static constexpr int32_t kOut = 1 << 24;

  void find_places() {
    node_place_.assign(nodes_.size(), -1);
    group_place_.assign(groups().size(), -1);
    for (size_t g = 0; g < groups().size(); ++g) {
      const Group& one = groups()[g];
      if (one.parent >= 0)
        building_[g].depth = building_[static_cast<size_t>(one.parent)].depth + 1;
      for (size_t i = 0; i < one.members.size(); ++i) {
        const int32_t member = one.members[i];
        (member >= 0 ? node_place_[static_cast<size_t>(member)]
                     : group_place_[index_of_group(member)]) = static_cast<int32_t>(i);
      }
    }
  }

  static int32_t
  port(std::map<int32_t, int32_t>& ports, std::vector<std::vector<int32_t>>& values, int32_t made) {
    const auto known = ports.find(made);
    if (known != ports.end()) return known->second;
    if (values.size() < kMostPortsOfSide) values.emplace_back();
    const auto at = static_cast<int32_t>(values.size()) - 1;
    values.back().push_back(made);
    ports.emplace(made, at);
    return at;
  }

  void wire(int32_t g, int32_t from, int32_t to, int32_t value) {
    if (from == to) return; // a group that reads what it makes by way of others
    Wire& wire = building_[static_cast<size_t>(g)].wires[{from, to}];
    ++wire.count;
    if (wire.values.size() < kMostValues &&
        std::find(wire.values.begin(), wire.values.end(), value) == wire.values.end())
      wire.values.push_back(value);
  }

  /// Down from the group that holds both ends, through ports on either side.
  void add(const Edge& edge) {
    const auto start = [&](int32_t node) {
      return node >= 0 ? std::pair{out_.groups.parent[static_cast<size_t>(node)],
                                   node_place_[static_cast<size_t>(node)]}
                       : std::pair{-1, -1};
    };
    const auto depth = [&](int32_t g) {
      return g < 0 ? -1 : building_[static_cast<size_t>(g)].depth;
    };
    auto [a, from] = start(edge.from);
    auto [b, to] = start(edge.to);
    const auto up = [&](int32_t& g, int32_t& place) {
      place = group_place_[static_cast<size_t>(g)];
      g = group(g).parent;
    };
    while (a != b) {
      if (depth(a) > depth(b)) {
        leave(a, from, edge);
        up(a, from);
      } else if (depth(b) > depth(a)) {
        enter(b, to, edge);
        up(b, to);
      } else {
        leave(a, from, edge);
        enter(b, to, edge);
        up(a, from);
        up(b, to);
      }
    }
    if (a >= 0) wire(a, from, to, edge.value);
  }

  void leave(int32_t g, int32_t place, const Edge& edge) {
    Building& building = building_[static_cast<size_t>(g)];
    wire(g, place, kOut + port(building.out, building.out_values, edge.made), edge.value);
  }
  void enter(int32_t g, int32_t place, const Edge& edge) {
    Building& building = building_[static_cast<size_t>(g)];
    wire(g, -1 - port(building.in, building.in_values, edge.made), place, edge.value);
  }

  void finish(int32_t g) {
    Building& building = building_[static_cast<size_t>(g)];
    Drawing& drawing = out_.drawings[static_cast<size_t>(g)];
    drawing.in = std::move(building.in_values);
    drawing.out = std::move(building.out_values);
    const auto members = static_cast<int32_t>(group(g).members.size()),
               inputs = static_cast<int32_t>(drawing.in.size());
    const auto box = [&](int32_t end) {
      if (end < 0) return members + (-1 - end);
      return end >= kOut ? members + inputs + (end - kOut) : end;
    };
    for (auto& [ends, wire] : building.wires) {
      wire.from = box(ends.first);
      wire.to = box(ends.second);
      drawing.wires.push_back(std::move(wire));
    }
    std::sort(drawing.wires.begin(), drawing.wires.end(), [](const Wire& a, const Wire& b) {
      return std::pair(a.from, a.to) < std::pair(b.from, b.to);
    });
    building = {};
  }

  std::vector<uint64_t> numbers(int32_t g) const {
    const Drawing& drawing = out_.drawings[static_cast<size_t>(g)];
    std::vector<uint64_t> out = {group(g).members.size(), drawing.in.size(), drawing.out.size()};
    for (const Wire& wire : drawing.wires)
      out.push_back(static_cast<uint64_t>(wire.from) << 32 | static_cast<uint64_t>(wire.to));
    return out;
  }
  static uint64_t hash(const std::vector<uint64_t>& numbers) {
    return hash_bytes(std::as_bytes(std::span(numbers)));
  }
  /// What the layout depends on.
  uint64_t form_of(int32_t g) const { return hash(numbers(g)); }
  /// That, and the operators in it and below.
  uint64_t structure_of(int32_t g, const std::vector<uint64_t>& structures) const {
    std::vector<uint64_t> all = numbers(g);
    for (const int32_t member : group(g).members)
      all.push_back(member < 0 ? structures[index_of_group(member)]
                               : hash_bytes(nodes_[static_cast<size_t>(member)].op));
    return hash(all);
  }

  Result<Layout> lay_out(const LayoutEngine& engine, int32_t g) const {
    const Drawing& drawing = out_.drawings[static_cast<size_t>(g)];
    std::vector<Box> boxes(group(g).members.size(), {kBoxWidth, kBoxHeight});
    boxes.resize(boxes.size() + drawing.in.size(), {kPortWidth, kPortHeight, Box::Side::kFirst});
    boxes.resize(boxes.size() + drawing.out.size(), {kPortWidth, kPortHeight, Box::Side::kLast});
    std::vector<std::pair<int32_t, int32_t>> edges;
    for (const Wire& wire : drawing.wires)
      edges.emplace_back(wire.from, wire.to);
    return engine.lay_out(boxes, edges);
  }

  std::span<const NamedNode> nodes_;
  std::span<const Scope> scopes_;
  std::span<const Edge> edges_;
  std::vector<int32_t> node_place_, group_place_;
  std::vector<Building> building_;
  Drawings out_;
};

} // namespace

Result<Drawings>
draw(std::span<const NamedNode> nodes, std::span<const Scope> scopes, std::span<const Edge> edges) {
  return Draughtsman(nodes, scopes, edges).run();
}

} // namespace octet::view

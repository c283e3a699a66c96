// SPDX-License-Identifier: Apache-2.0
#include "view/groups.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

#include "core/format.h"

namespace octet::view {
namespace {

constexpr size_t kMostMembers = kMostBoxes - kMostPorts;
constexpr size_t kDeepest = 24; ///< parts of a path that count
/// A group of fewer nodes is not worth the way into it; one of so few needs no groups inside.
constexpr int64_t kFewestNodes = 3, kFlat = 30;
constexpr size_t kStretch = 40, kLongestPeriod = 200;

bool is_number(std::string_view part) {
  return !part.empty() &&
         std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> out;
  char before = '/';
  for (size_t begin = 0; begin <= name.size() && out.size() < kDeepest;) {
    const size_t end = std::min(name.find_first_of("/.", begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (is_number(part) && !out.empty())
      out.back().append(1, before).append(part);
    else if (!part.empty())
      out.emplace_back(part);
    if (end < name.size()) before = name[end];
    begin = end + 1;
  }
  return out;
}

std::string last_of(std::string_view name) {
  std::vector<std::string> parts = parts_of(name);
  return parts.empty() ? "" : std::move(parts.back());
}

struct Tree {
  std::string name;
  std::map<std::string, std::unique_ptr<Tree>, std::less<>> below;
  std::vector<int32_t> nodes;
  /// Nodes with their bodies, and in them the bodies: groups however few nodes are in them.
  std::vector<std::unique_ptr<Tree>> kept;
  int32_t node = -1; ///< whose bodies are in `kept`
};

/// What becomes of a tree: members are nodes, or places in `below`.
struct Cut {
  std::string name;
  std::vector<std::pair<int32_t, int32_t>> order; ///< first node of a member, the member
  std::vector<Cut> below;
  int64_t nodes = 0;
  int64_t boxes = 0; ///< were there no groups but those that are kept
  int32_t node = -1;
  bool kept = false;
};

void add_group(Cut group, Cut& to) {
  to.order.emplace_back(group.order.front().first, ~static_cast<int32_t>(to.below.size()));
  to.below.push_back(std::move(group));
}

void flatten(Cut cut, Cut& to) {
  for (const auto& [first, member] : cut.order) {
    if (member >= 0) {
      to.order.emplace_back(first, member);
      continue;
    }
    Cut& below = cut.below[index_of_group(member)];
    below.kept ? add_group(std::move(below), to) : flatten(std::move(below), to);
  }
}

Cut cut_tree(const Tree& tree) {
  const auto own = static_cast<int64_t>(tree.nodes.size());
  Cut out{tree.name, {}, {}, own, own, tree.node};
  for (const int32_t node : tree.nodes)
    out.order.emplace_back(node, node);
  for (const std::unique_ptr<Tree>& kept : tree.kept) {
    Cut cut = cut_tree(*kept);
    cut.name = kept->name; // also of a body with nothing but one group
    cut.kept = true;
    out.nodes += cut.nodes;
    ++out.boxes;
    add_group(std::move(cut), out);
  }
  for (const auto& [name, below] : tree.below) {
    Cut cut = cut_tree(*below);
    out.nodes += cut.nodes;
    out.boxes += cut.boxes;
    if (cut.boxes < kFewestNodes)
      flatten(std::move(cut), out);
    else
      add_group(std::move(cut), out);
  }
  if (out.boxes <= kFlat && !out.below.empty()) {
    Cut flat{out.name, {}, {}, out.nodes, out.boxes, out.node};
    flatten(std::move(out), flat);
    out = std::move(flat);
  }
  std::sort(out.order.begin(), out.order.end());
  if (out.order.size() == 1 && !out.below.empty() && !out.below.front().kept) {
    Cut only = std::move(out.below.front()); // nothing but one group
    if (!out.name.empty()) only.name = out.name + "/" + only.name;
    return only;
  }
  return out;
}

/// The smallest distance at which most kinds come again; 0: there is none.
size_t period_of(std::span<const int> kinds) {
  constexpr double kMostOf = 0.75, kAsGood = 0.97;
  size_t best = 0;
  double most = kMostOf;
  for (size_t p = 2; p <= std::min(kLongestPeriod, kinds.size() / 3); ++p) {
    size_t same = 0;
    for (size_t i = p; i < kinds.size(); ++i)
      same += kinds[i] == kinds[i - p] ? 1 : 0;
    const double share = static_cast<double>(same) / static_cast<double>(kinds.size() - p);
    if (share * kAsGood > most || (best == 0 && share >= most)) {
      best = p;
      most = share;
    }
  }
  return best;
}

class Grouping {
 public:
  Grouping(std::span<const NamedNode> nodes,
           std::span<const Scope> scopes,
           std::span<const std::pair<int32_t, int32_t>> edges)
      : nodes_(nodes), scopes_(scopes), edges_(edges) {
    out_.parent.assign(nodes.size(), -1);
  }

  Groups run() {
    Tree root;
    std::vector<std::vector<size_t>> inside(scopes_.size()); // nodes of bodies
    std::vector<size_t> outside;
    std::vector<bool> opens(nodes_.size(), false);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].drawn) continue;
      const int32_t scope = nodes_[i].scope;
      (scope < 0 ? outside : inside[static_cast<size_t>(scope)]).push_back(i);
      if (scope >= 0) opens[static_cast<size_t>(scopes_[static_cast<size_t>(scope)].node)] = true;
    }
    opened_.assign(nodes_.size(), nullptr);
    plant(outside, opens, root);
    for (size_t s = 0; s < scopes_.size(); ++s) {
      if (inside[s].empty()) continue;
      Tree& body = keep(*opened_[static_cast<size_t>(scopes_[s].node)], scopes_[s].name);
      plant(inside[s], opens, body);
    }
    Cut cut = cut_tree(root);
    cut.name.clear();
    emit(cut, -1);
    for (size_t g = 0; g < out_.groups.size(); ++g) // grows
      shorten(static_cast<int32_t>(g));
    in_order();
    return std::move(out_);
  }

 private:
  Group& group(int32_t g) { return out_.groups[static_cast<size_t>(g)]; }

  static Tree& keep(Tree& in, std::string name) {
    in.kept.push_back(std::make_unique<Tree>());
    in.kept.back()->name = std::move(name);
    return *in.kept.back();
  }

  /// Nodes of one graph; those whose bodies are drawn get a group of their own.
  void plant(const std::vector<size_t>& nodes, const std::vector<bool>& opens, Tree& root) {
    std::vector<Tree*> holder;
    for (const size_t i : nodes) {
      Tree* at = &root;
      for (const std::string& part : path_of(nodes_[i].path)) {
        std::unique_ptr<Tree>& below = at->below[part];
        if (below == nullptr) {
          below = std::make_unique<Tree>();
          below->name = part;
        }
        at = below.get();
      }
      holder.push_back(at);
    }
    for (size_t k = 0; k < nodes.size(); ++k) {
      const size_t i = nodes[k];
      const std::string last = last_of(nodes_[i].path);
      // A product of the name of a group, whose bias and turn stand in it, is its first.
      const auto same = holder[k]->below.find(last);
      Tree* at = same == holder[k]->below.end() ? holder[k] : same->second.get();
      if (opens[i]) {
        at = &keep(*at, last.empty() ? std::string(nodes_[i].op) : last);
        at->node = static_cast<int32_t>(i);
        opened_[i] = at;
      }
      at->nodes.push_back(static_cast<int32_t>(i));
    }
  }

  int32_t emit(const Cut& cut, int32_t parent) {
    const auto g = static_cast<int32_t>(out_.groups.size());
    out_.groups.push_back({cut.name, parent, {}, cut.nodes, cut.node});
    std::vector<int32_t> members;
    for (const auto& [first, member] : cut.order) {
      if (member >= 0) out_.parent[static_cast<size_t>(member)] = g;
      members.push_back(member >= 0 ? member : ~emit(cut.below[index_of_group(member)], g));
    }
    group(g).members = std::move(members);
    return g;
  }

  /// The member of a group that holds a node; -1: it is elsewhere.
  int32_t place_in(int32_t g,
                   int32_t node,
                   const std::vector<int32_t>& place_of_group,
                   const std::vector<int32_t>& place_of_node) const {
    int32_t at = out_.parent[static_cast<size_t>(node)];
    if (at == g) return place_of_node[static_cast<size_t>(node)];
    while (at >= 0 && out_.groups[static_cast<size_t>(at)].parent != g)
      at = out_.groups[static_cast<size_t>(at)].parent;
    return at < 0 ? -1 : place_of_group[static_cast<size_t>(at)];
  }

  /// How many members are needed on the other side of the place before each.
  std::vector<int> crossings(int32_t g) {
    const size_t count = group(g).members.size();
    std::vector<int32_t> node_place(nodes_.size(), -1), group_place(out_.groups.size(), -1);
    for (size_t i = 0; i < count; ++i) {
      const int32_t member = group(g).members[i];
      (member >= 0 ? node_place[static_cast<size_t>(member)]
                   : group_place[index_of_group(member)]) = static_cast<int32_t>(i);
    }
    std::vector<int32_t> last(count, -1);
    for (const auto& [from, to] : edges_) {
      const int32_t a = place_in(g, from, group_place, node_place),
                    b = place_in(g, to, group_place, node_place);
      if (a >= 0 && b > a) last[static_cast<size_t>(a)] = std::max(last[static_cast<size_t>(a)], b);
    }
    std::vector<int> out(count + 1, 0);
    for (size_t i = 0; i < count; ++i)
      if (last[i] >= 0) {
        ++out[i + 1];
        --out[static_cast<size_t>(last[i]) + 1];
      }
    std::partial_sum(out.begin(), out.end(), out.begin());
    return out;
  }

  std::vector<int> kinds_of(int32_t g) {
    std::map<std::string, int> known;
    std::vector<int> out;
    for (const int32_t member : group(g).members) {
      std::string kind;
      if (member >= 0)
        kind = nodes_[static_cast<size_t>(member)].op;
      else
        for (const char c : "/" + group(~member).name)
          if (c < '0' || c > '9') kind += c;
      out.push_back(
          known.try_emplace(std::move(kind), static_cast<int>(known.size())).first->second);
    }
    return out;
  }

  /// Where the members are cut: the places of first members, without 0.
  std::vector<size_t> cuts_of(int32_t g) {
    const std::vector<int> crossing = crossings(g);
    const size_t count = group(g).members.size();
    std::vector<size_t> out;
    if (const size_t period = period_of(kinds_of(g)); period > 0) {
      const size_t stretch = period * std::max<size_t>(1, (kStretch + period / 2) / period);
      size_t offset = 0;
      int64_t least = INT64_MAX;
      for (size_t o = 0; o < stretch; ++o) {
        int64_t sum = 0;
        for (size_t at = o; at < count; at += stretch)
          sum += crossing[at];
        if (sum < least) {
          least = sum;
          offset = o;
        }
      }
      for (size_t at = offset; at < count; at += stretch)
        if (at > 0) out.push_back(at);
      return out;
    }
    for (size_t at = 0; count - at > kStretch * 3 / 2;) {
      size_t best = at + kStretch;
      for (size_t i = at + kStretch / 2; i <= at + kStretch * 3 / 2; ++i) {
        const auto far = [&](size_t x) {
          return x > at + kStretch ? x - at - kStretch : at + kStretch - x;
        };
        if (crossing[i] < crossing[best] || (crossing[i] == crossing[best] && far(i) < far(best)))
          best = i;
      }
      out.push_back(best);
      at = best;
    }
    return out;
  }

  /// Stretches of the members become groups until few enough members are left.
  void shorten(int32_t g) {
    while (group(g).members.size() > kMostMembers) {
      const std::vector<int32_t> members = group(g).members;
      std::vector<size_t> cuts = cuts_of(g);
      cuts.push_back(members.size());
      std::vector<int32_t> stretches;
      size_t begin = 0;
      for (const size_t end : cuts) {
        const auto fresh = static_cast<int32_t>(out_.groups.size());
        Group made{"",
                   g,
                   {members.begin() + static_cast<ptrdiff_t>(begin),
                    members.begin() + static_cast<ptrdiff_t>(end)},
                   0};
        for (const int32_t member : made.members) {
          if (member >= 0)
            out_.parent[static_cast<size_t>(member)] = fresh;
          else
            group(~member).parent = fresh;
          made.nodes += member >= 0 ? 1 : group(~member).nodes;
        }
        made.name = fmt::format("{} to {}", begin + 1, end);
        out_.groups.push_back(std::move(made));
        stretches.push_back(~fresh);
        begin = end;
      }
      group(g).members = std::move(stretches);
    }
  }

  /// Parents before what is in them.
  void in_order() {
    std::vector<int32_t> order = {0}, place(out_.groups.size(), 0);
    for (size_t i = 0; i < order.size(); ++i)
      for (const int32_t member : group(order[i]).members)
        if (member < 0) order.push_back(~member);
    for (size_t i = 0; i < order.size(); ++i)
      place[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
    std::vector<Group> sorted;
    for (const int32_t g : order) {
      Group& from = group(g);
      if (from.parent >= 0) from.parent = place[static_cast<size_t>(from.parent)];
      for (int32_t& member : from.members)
        if (member < 0) member = ~place[index_of_group(member)];
      sorted.push_back(std::move(from));
    }
    out_.groups = std::move(sorted);
    for (int32_t& parent : out_.parent)
      if (parent >= 0) parent = place[static_cast<size_t>(parent)];
  }

  std::span<const NamedNode> nodes_;
  std::span<const Scope> scopes_;
  std::span<const std::pair<int32_t, int32_t>> edges_;
  std::vector<Tree*> opened_; ///< of a node whose bodies are drawn: its group
  Groups out_;
};

} // namespace

std::vector<std::string> path_of(std::string_view name) {
  std::vector<std::string> out = parts_of(name);
  if (!out.empty()) out.pop_back();
  return out;
}

Groups make_groups(std::span<const NamedNode> nodes,
                   std::span<const Scope> scopes,
                   std::span<const std::pair<int32_t, int32_t>> edges) {
  return Grouping(nodes, scopes, edges).run();
}

} // namespace octet::view

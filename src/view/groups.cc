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
};

/// What becomes of a tree: members are nodes, or places in `below`.
struct Cut {
  std::string name;
  std::vector<std::pair<int32_t, int32_t>> order; ///< first node of a member, the member
  std::vector<Cut> below;
  int64_t nodes = 0;
};

void flatten(const Cut& cut, std::vector<std::pair<int32_t, int32_t>>& to) {
  for (const auto& [first, member] : cut.order)
    if (member >= 0)
      to.emplace_back(first, member);
    else
      flatten(cut.below[index_of_group(member)], to);
}

Cut cut_tree(const Tree& tree) {
  Cut out{tree.name, {}, {}, static_cast<int64_t>(tree.nodes.size())};
  for (const int32_t node : tree.nodes)
    out.order.emplace_back(node, node);
  for (const auto& [name, below] : tree.below) {
    Cut cut = cut_tree(*below);
    out.nodes += cut.nodes;
    if (cut.nodes < kFewestNodes) {
      flatten(cut, out.order);
      continue;
    }
    out.order.emplace_back(cut.order.front().first, ~static_cast<int32_t>(out.below.size()));
    out.below.push_back(std::move(cut));
  }
  std::sort(out.order.begin(), out.order.end());
  if (out.nodes <= kFlat && !out.below.empty()) {
    std::vector<std::pair<int32_t, int32_t>> flat;
    flatten(out, flat);
    std::sort(flat.begin(), flat.end());
    out.order = std::move(flat);
    out.below.clear();
  }
  if (out.order.size() == 1 && !out.below.empty()) { // nothing but one group
    Cut only = std::move(out.below.front());
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
  Grouping(std::span<const NamedNode> nodes, std::span<const std::pair<int32_t, int32_t>> edges)
      : nodes_(nodes), edges_(edges) {
    out_.parent.assign(nodes.size(), -1);
  }

  Groups run() {
    Tree root;
    std::vector<Tree*> holder(nodes_.size(), nullptr);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].drawn) continue;
      Tree* at = &root;
      for (const std::string& part : path_of(nodes_[i].path)) {
        std::unique_ptr<Tree>& below = at->below[part];
        if (below == nullptr) {
          below = std::make_unique<Tree>();
          below->name = part;
        }
        at = below.get();
      }
      holder[i] = at;
    }
    // A product of the name of a group, whose bias and turn stand in it, is its first.
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (holder[i] == nullptr) continue;
      const auto same = holder[i]->below.find(last_of(nodes_[i].path));
      (same == holder[i]->below.end() ? *holder[i] : *same->second)
          .nodes.push_back(static_cast<int32_t>(i));
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

  int32_t emit(const Cut& cut, int32_t parent) {
    const auto g = static_cast<int32_t>(out_.groups.size());
    out_.groups.push_back({cut.name, parent, {}, cut.nodes});
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
  std::span<const std::pair<int32_t, int32_t>> edges_;
  Groups out_;
};

} // namespace

std::vector<std::string> path_of(std::string_view name) {
  std::vector<std::string> out = parts_of(name);
  if (!out.empty()) out.pop_back();
  return out;
}

Groups make_groups(std::span<const NamedNode> nodes,
                   std::span<const std::pair<int32_t, int32_t>> edges) {
  return Grouping(nodes, edges).run();
}

} // namespace octet::view

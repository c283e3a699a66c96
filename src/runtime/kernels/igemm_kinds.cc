// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/igemm_kinds.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace octet::kernels {
namespace {

constexpr int32_t kInt16Max = 32767;
constexpr size_t kLanes = 2 * kPanelColumns; // int16 lanes of a group: 16 columns x 2 pairs of k

/// Of each lane of a group the sum of positive weights, then what is to be subtracted for the negative
/// ones.
struct LaneSums {
  alignas(64) std::array<int16_t, 2 * kLanes> of{};
};

// Partners are that near to each other, so that what they read of x stays in the first-level cache.
constexpr size_t kNearGroups = 256;
// A group whose partners are that rare stays single.
constexpr int kMaxTries = 300;

// A group that is exact in one order or several.
struct Candidate {
  size_t index = 0;
  size_t orders = 0; // how many
  std::array<size_t, kOrders> order{};
  std::array<LaneSums, kOrders> lanes{}; // in those orders
  int32_t total = 0;                     // of all weights: the larger, the fewer partners it has
};

int16_t largest(const LaneSums& a) {
  int16_t most = 0;
  for (const int16_t sum : a.of)
    most = std::max(most, sum);
  return most;
}

/// The largest sum where two groups are added.
int16_t largest(const LaneSums& a, const LaneSums& b) {
  int16_t most = 0;
  for (size_t i = 0; i < a.of.size(); ++i)
    most = std::max(most, static_cast<int16_t>(a.of[i] + b.of[i]));
  return most;
}

/// The orders in which x times the group's sums stay within int16, where `most` is the largest sum that does.
Candidate prove(const int8_t* group, int32_t most, size_t orders) {
  std::array<std::array<int16_t, kPanelColumns>, 4> positive;
  std::array<std::array<int16_t, kPanelColumns>, 4> negative;
  Candidate found;
  for (size_t i = 0; i < 4; ++i) {
    for (size_t c = 0; c < kPanelColumns; ++c) {
      const auto v = static_cast<int16_t>(group[c * 4 + i]);
      positive[i][c] = std::max<int16_t>(v, 0);
      negative[i][c] = std::max<int16_t>(static_cast<int16_t>(-v), 0);
      found.total += positive[i][c] + negative[i][c];
    }
  }
  for (size_t order = 0; order < orders; ++order) {
    LaneSums& lanes = found.lanes[found.orders];
    for (size_t pair = 0; pair < 2; ++pair) {
      const size_t i = kOrder[order][pair * 2], j = kOrder[order][pair * 2 + 1];
      int16_t* to = lanes.of.data() + pair * kPanelColumns;
      for (size_t c = 0; c < kPanelColumns; ++c) {
        to[c] = static_cast<int16_t>(positive[i][c] + positive[j][c]);
        to[kLanes + c] = static_cast<int16_t>(negative[i][c] + negative[j][c]);
      }
    }
    if (largest(lanes) <= most) found.order[found.orders++] = order;
  }
  return found;
}

/// Orders in which both may be added in int16, if there are any. `tries` counts down.
std::optional<std::pair<size_t, size_t>>
couple(const Candidate& a, const Candidate& b, int32_t most, int& tries) {
  for (size_t i = 0; i < a.orders; ++i)
    for (size_t j = 0; j < b.orders; ++j, --tries)
      if (largest(a.lanes[i], b.lanes[j]) <= most) return std::pair(a.order[i], b.order[j]);
  return std::nullopt;
}

/// Finds partners among groups that are near one another. Those of large weights choose first, among
/// those of the smallest ones: nearly every one of those that are left finds a partner then.
void match(std::span<const Candidate> found, int32_t most, Kinds& kinds) {
  std::vector<const Candidate*> left;
  left.reserve(found.size());
  for (const Candidate& candidate : found)
    left.push_back(&candidate);
  std::stable_sort(left.begin(), left.end(),
                   [](const Candidate* a, const Candidate* b) { return a->total > b->total; });
  std::vector<std::pair<KindGroup, KindGroup>> couples;
  couples.reserve(found.size() / 2);
  for (size_t i = 0; i < left.size(); ++i) {
    const Candidate& now = *left[i];
    std::optional<std::pair<size_t, size_t>> chosen;
    size_t partner = left.size();
    for (int tries = kMaxTries; !chosen && tries > 0 && partner > i + 1;)
      chosen = couple(now, *left[--partner], most, tries);
    if (!chosen) {
      kinds.plain.push_back({.index = now.index, .order = now.order[0]});
      continue;
    }
    KindGroup one{.index = now.index, .order = chosen->first};
    KindGroup other{.index = left[partner]->index, .order = chosen->second};
    if (other.index < one.index) std::swap(one, other);
    couples.emplace_back(one, other);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(partner));
  }
  std::sort(couples.begin(), couples.end(),
            [](const auto& a, const auto& b) { return a.first.index < b.first.index; });
  for (const auto& [one, other] : couples)
    kinds.paired.insert(kinds.paired.end(), {one, other});
}

Kinds classify(const std::vector<int8_t>& groups, int32_t bound, size_t orders) {
  Kinds kinds;
  const int32_t most = kInt16Max / bound;
  const size_t count = groups.size() / kPanelGroupBytes;
  std::vector<Candidate> found;
  found.reserve(std::min(count, kNearGroups));
  for (size_t g = 0; g < count; ++g) {
    Candidate now = prove(groups.data() + g * kPanelGroupBytes, most, orders);
    now.index = g;
    if (now.orders == 0)
      kinds.wide.push_back({.index = g});
    else
      found.push_back(now);
    if ((g + 1) % kNearGroups != 0 && g + 1 < count) continue;
    match(found, most, kinds);
    found.clear();
  }
  std::sort(kinds.plain.begin(), kinds.plain.end(),
            [](KindGroup a, KindGroup b) { return a.index < b.index; });
  return kinds;
}

// Cycles of a row and a group (Zen 4, AVX2): of 16 columns, of 8 columns.
struct GroupCycles {
  double paired, plain, wide;
};
constexpr GroupCycles kWholeCycles{.paired = 1.75, .plain = 2.12, .wide = 2.92};
constexpr GroupCycles kHalfCycles{.paired = 0.91, .plain = 1.10, .wide = 1.85};
constexpr double kWorthSplitting = 0.97; // of a whole panel's cycles

double cycles(const Kinds& kinds, const GroupCycles& each) {
  return each.paired * static_cast<double>(kinds.paired.size()) +
         each.plain * static_cast<double>(kinds.plain.size()) +
         each.wide * static_cast<double>(kinds.wide.size());
}

/// A panel's groups without the columns of its other half.
std::vector<int8_t> half_of(const std::vector<int8_t>& groups, size_t first_column) {
  std::vector<int8_t> half(groups.size(), 0);
  for (size_t g = 0; g < groups.size(); g += kPanelGroupBytes)
    std::copy_n(groups.begin() + static_cast<std::ptrdiff_t>(g + first_column * 4), 32,
                half.begin() + static_cast<std::ptrdiff_t>(g + first_column * 4));
  return half;
}

} // namespace

bool Kinds::permuted() const {
  const auto moved = [](KindGroup g) { return g.order != 0; };
  return std::any_of(paired.begin(), paired.end(), moved) ||
         std::any_of(plain.begin(), plain.end(), moved);
}

bool needs_one_order(const std::vector<int8_t>& groups, int32_t bound) {
  const Kinds kinds = classify(groups, bound, 1);
  return kinds.wide.empty() && kinds.plain.size() * 16 <= groups.size() / kPanelGroupBytes + 16;
}

bool gains_by_halves(const std::vector<int8_t>& groups, int32_t bound, size_t orders) {
  const double whole = cycles(classify(groups, bound, orders), kWholeCycles);
  // Where no half can be faster, none is tried.
  const size_t count = groups.size() / kPanelGroupBytes;
  if (2 * kHalfCycles.paired * static_cast<double>(count) > kWorthSplitting * whole) return false;
  double halves = 0;
  for (const size_t column : {size_t{0}, kPanelColumns / 2})
    halves += cycles(classify(half_of(groups, column), bound, orders), kHalfCycles);
  return halves <= kWorthSplitting * whole;
}

PanelKinds
choose_kinds(const std::vector<int8_t>& groups, int32_t bound, size_t orders, PanelWidth width) {
  PanelKinds panel;
  panel.split = width != PanelWidth::kWhole;
  panel.all = classify(panel.split ? half_of(groups, 0) : groups, bound, orders);
  if (width == PanelWidth::kHalves)
    panel.right = classify(half_of(groups, kPanelColumns / 2), bound, orders);
  return panel;
}

} // namespace octet::kernels

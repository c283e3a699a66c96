// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernels/igemm_kinds.h"

#include <algorithm>
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

constexpr int32_t kFlippedMost = 256; // largest sum of |w| of a lane of flipped groups

// Partners are that near to each other, so that what they read of x stays in the first-level cache.
constexpr size_t kNearGroups = 256;
// A group whose partners are that rare stays single.
constexpr int kMaxTries = 64;

struct Candidate {
  size_t index = 0;
  LaneSums lanes;
  std::array<int16_t, kLanes> magnitudes{}; // of each lane the sum of |w|
  int32_t total = 0;                        // of all weights: the larger, the fewer partners it has
  bool proven = false;                      // x times each lane's sums stays within int16
};

/// The largest sum of a lane, `a` and `b` added.
template <size_t N>
int32_t largest(const std::array<int16_t, N>& a, const std::array<int16_t, N>& b) {
  int16_t most = 0;
  for (size_t i = 0; i < N; ++i)
    most = std::max(most, static_cast<int16_t>(a[i] + b[i]));
  return most;
}

/// `most`: the largest sum of a lane that x may be multiplied with.
Candidate candidate_of(const int8_t* group, int32_t most) {
  Candidate made;
  for (size_t i = 0; i < 4; ++i) {
    int16_t* positive = made.lanes.of.data() + i / 2 * kPanelColumns;
    int16_t* negative = positive + kLanes;
    for (size_t c = 0; c < kPanelColumns; ++c) {
      const auto v = static_cast<int16_t>(group[c * 4 + i]);
      positive[c] = static_cast<int16_t>(positive[c] + std::max<int16_t>(v, 0));
      negative[c] = static_cast<int16_t>(negative[c] - std::min<int16_t>(v, 0));
    }
  }
  for (size_t lane = 0; lane < kLanes; ++lane) {
    made.magnitudes[lane] =
        static_cast<int16_t>(made.lanes.of[lane] + made.lanes.of[kLanes + lane]);
    made.total += made.magnitudes[lane];
  }
  made.proven = largest(made.lanes.of, LaneSums().of) <= most;
  return made;
}

using Candidates = std::vector<const Candidate*>;

/// Takes couples, for which `fits` holds, from candidates that are near one another. Those of large weights
/// choose first, among those of the smallest ones: nearly every one of those that are left finds a partner
/// then. Only those that `chooses` holds for look for one.
template <class Fits, class Chooses>
void take_couples(Candidates& left,
                  std::vector<size_t>& to,
                  const Fits& fits,
                  const Chooses& chooses) {
  std::stable_sort(left.begin(), left.end(),
                   [](const Candidate* a, const Candidate* b) { return a->total > b->total; });
  std::vector<std::pair<size_t, size_t>> couples;
  couples.reserve(left.size() / 2);
  Candidates alone;
  for (size_t i = 0; i < left.size(); ++i) {
    const Candidate& now = *left[i];
    bool found = false;
    size_t partner = left.size();
    for (int tries = chooses(now) ? kMaxTries : 0; !found && tries > 0 && partner > i + 1; --tries)
      found = fits(now, *left[--partner]);
    if (!found) {
      alone.push_back(&now);
      continue;
    }
    couples.push_back(std::minmax(now.index, left[partner]->index));
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(partner));
  }
  std::sort(couples.begin(), couples.end());
  for (const auto& [one, other] : couples)
    to.insert(to.end(), {one, other});
  left = std::move(alone);
}

/// Of groups that are near one another.
void match(std::span<const Candidate> found, int32_t most, Kinds& kinds) {
  const auto is_proven = [](const Candidate& c) { return c.proven; };
  Candidates proven, rest;
  for (const Candidate& candidate : found)
    (candidate.proven ? proven : rest).push_back(&candidate);
  take_couples(
      proven, kinds.paired,
      [&](const Candidate& a, const Candidate& b) {
        return largest(a.lanes.of, b.lanes.of) <= most;
      },
      is_proven);
  // A flipped couple takes what two plain groups take: these are partners, but do not look for any.
  rest.insert(rest.end(), proven.begin(), proven.end());
  take_couples(
      rest, kinds.flipped_paired,
      [](const Candidate& a, const Candidate& b) {
        return largest(a.magnitudes, b.magnitudes) <= kFlippedMost;
      },
      [](const Candidate& c) { return !c.proven; });
  for (const Candidate* candidate : rest)
    (candidate->proven ? kinds.plain : kinds.flipped).push_back(candidate->index);
}

Kinds classify(const std::vector<int8_t>& groups, int32_t bound) {
  Kinds kinds;
  const int32_t most = kInt16Max / bound;
  const size_t count = groups.size() / kPanelGroupBytes;
  std::vector<Candidate> found;
  found.reserve(std::min(count, kNearGroups));
  for (size_t g = 0; g < count; ++g) {
    found.push_back(candidate_of(groups.data() + g * kPanelGroupBytes, most));
    found.back().index = g;
    if (found.size() < kNearGroups && g + 1 < count) continue;
    match(found, most, kinds);
    found.clear();
  }
  std::sort(kinds.plain.begin(), kinds.plain.end());
  std::sort(kinds.flipped.begin(), kinds.flipped.end());
  return kinds;
}

// Cycles of a row and a group (Zen 3, AVX2): of 16 columns, of 8 columns.
struct GroupCycles {
  double paired, plain, flipped_paired, flipped;
};
constexpr GroupCycles kWholeCycles{
    .paired = 1.67, .plain = 2.07, .flipped_paired = 2.53, .flipped = 2.53};
constexpr GroupCycles kHalfCycles{
    .paired = 0.92, .plain = 1.12, .flipped_paired = 1.15, .flipped = 1.30};
constexpr double kWorthSplitting = 0.97; // of a whole panel's cycles

double cycles(const Kinds& kinds, const GroupCycles& each) {
  return each.paired * static_cast<double>(kinds.paired.size()) +
         each.plain * static_cast<double>(kinds.plain.size()) +
         each.flipped_paired * static_cast<double>(kinds.flipped_paired.size()) +
         each.flipped * static_cast<double>(kinds.flipped.size());
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

bool gains_by_halves(const std::vector<int8_t>& groups, int32_t bound) {
  const double whole = cycles(classify(groups, bound), kWholeCycles);
  // Where no half can be faster, none is tried.
  const size_t count = groups.size() / kPanelGroupBytes;
  if (2 * kHalfCycles.paired * static_cast<double>(count) > kWorthSplitting * whole) return false;
  double halves = 0;
  for (const size_t column : {size_t{0}, kPanelColumns / 2})
    halves += cycles(classify(half_of(groups, column), bound), kHalfCycles);
  return halves <= kWorthSplitting * whole;
}

PanelKinds choose_kinds(const std::vector<int8_t>& groups, int32_t bound, PanelWidth width) {
  PanelKinds panel;
  panel.split = width != PanelWidth::kWhole;
  panel.all = classify(panel.split ? half_of(groups, 0) : groups, bound);
  if (width == PanelWidth::kHalves)
    panel.right = classify(half_of(groups, kPanelColumns / 2), bound);
  return panel;
}

} // namespace octet::kernels

// SPDX-License-Identifier: Apache-2.0
// Packing of int8 weights. Where the instruction set multiplies with vpmaddubsw, whose int16
// results saturate, each group of 4 k x 16 columns is proven exact for x <= U or stored widened:
// with x >= 0 the extreme sums of a lane are U * (sum of positive weights) and U * (sum of negative
// ones). Two groups whose lanes stay within int16 when added are stored as a couple.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "runtime/kernels/igemm.h"
#include "runtime/kernels/igemm_tile.h"

namespace octet::kernels {
namespace {

constexpr int32_t kInt16Max = 32767;
constexpr size_t kColumns = 16;
constexpr size_t kLanes = 2 * kColumns; // int16 lanes of a group: 16 columns x 2 pairs of k

/// Of each lane of a group the sum of positive weights, then what is to be subtracted for the negative
/// ones.
struct LaneSums {
  alignas(64) std::array<int16_t, 2 * kLanes> of{};
};

constexpr int64_t kOrders = 3;
constexpr std::array<std::array<size_t, 4>, kOrders> kOrder = {
    {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 2, 1}}};
// Where panels read each byte of x less often, packing it in three orders costs more than widened weights.
constexpr int64_t kMinReadsForOrders = 4;
// Partners are that near to each other, so that what they read of x stays in the first-level cache.
constexpr size_t kNearGroups = 256;
// A group whose partners are that rare stays single.
constexpr int kMaxTries = 300;

struct Group {
  size_t index = 0; // in k order
  size_t order = 0; // of kOrder
};

// Which groups of a panel are stored how.
struct Panel {
  std::vector<Group> paired;
  std::vector<Group> plain;
  std::vector<Group> wide;
};

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

// A panel's groups in k order, 64 bytes each: [16 columns][4 k].
void gather_panel(
    const int8_t* w, int64_t w_stride, int64_t columns, int64_t k, std::span<int8_t> groups) {
  if (groups.empty()) return; // there is no place to count from
  if (columns < kColumnsPerPanel || k % 4 != 0) std::fill(groups.begin(), groups.end(), 0);
  for (int64_t c = 0; c < columns; ++c) {
    const int8_t* from = w + c * w_stride;
    int8_t* to = groups.data() + c * 4;
    for (int64_t i = 0; i + 4 <= k; i += 4, to += 64) {
      std::memcpy(to, from + i, 4);
    }
    std::copy_n(from + k / 4 * 4, k % 4, to);
  }
}

// The groups of four k in which a column has any excess.
std::vector<size_t> groups_with_excess(const int8_t* excess, int64_t stride, int64_t n, int64_t k) {
  std::vector<size_t> found;
  for (int64_t i = 0; excess != nullptr && i < k; i += 4) {
    const int64_t count = std::min<int64_t>(4, k - i);
    for (int64_t c = 0; c < n; ++c) {
      const int8_t* from = excess + c * stride + i;
      if (std::all_of(from, from + count, [](int8_t v) { return v == 0; })) continue;
      found.push_back(static_cast<size_t>(i / 4));
      break;
    }
  }
  return found;
}

// Some groups of a panel, as gather_panel has all of them.
void gather_some(const int8_t* w,
                 int64_t w_stride,
                 int64_t columns,
                 int64_t k,
                 std::span<const size_t> which,
                 std::span<int8_t> groups) {
  std::fill(groups.begin(), groups.end(), 0);
  for (size_t g = 0; g < which.size(); ++g) {
    const auto first = static_cast<int64_t>(which[g] * 4);
    for (int64_t c = 0; c < columns; ++c) {
      std::copy_n(w + c * w_stride + first, std::min<int64_t>(4, k - first),
                  groups.data() + static_cast<int64_t>(g) * 64 + c * 4);
    }
  }
}

/// The orders in which x times the group's sums stay within int16, where `most` is the largest sum that does.
Candidate prove(const int8_t* group, int32_t most, size_t orders) {
  std::array<std::array<int16_t, kColumns>, 4> positive;
  std::array<std::array<int16_t, kColumns>, 4> negative;
  Candidate found;
  for (size_t i = 0; i < 4; ++i) {
    for (size_t c = 0; c < kColumns; ++c) {
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
      int16_t* to = lanes.of.data() + pair * kColumns;
      for (size_t c = 0; c < kColumns; ++c) {
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
void match(std::span<const Candidate> found, int32_t most, Panel& panel) {
  std::vector<const Candidate*> left;
  left.reserve(found.size());
  for (const Candidate& candidate : found)
    left.push_back(&candidate);
  std::stable_sort(left.begin(), left.end(),
                   [](const Candidate* a, const Candidate* b) { return a->total > b->total; });
  std::vector<std::pair<Group, Group>> couples;
  couples.reserve(found.size() / 2);
  for (size_t i = 0; i < left.size(); ++i) {
    const Candidate& now = *left[i];
    std::optional<std::pair<size_t, size_t>> chosen;
    size_t partner = left.size();
    for (int tries = kMaxTries; !chosen && tries > 0 && partner > i + 1;)
      chosen = couple(now, *left[--partner], most, tries);
    if (!chosen) {
      panel.plain.push_back({.index = now.index, .order = now.order[0]});
      continue;
    }
    Group one{.index = now.index, .order = chosen->first};
    Group other{.index = left[partner]->index, .order = chosen->second};
    if (other.index < one.index) std::swap(one, other);
    couples.emplace_back(one, other);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(partner));
  }
  std::sort(couples.begin(), couples.end(),
            [](const auto& a, const auto& b) { return a.first.index < b.first.index; });
  for (const auto& [one, other] : couples)
    panel.paired.insert(panel.paired.end(), {one, other});
}

void classify(const std::vector<int8_t>& groups, int32_t bound, size_t orders, Panel& panel) {
  const int32_t most = kInt16Max / bound;
  const size_t count = groups.size() / 64;
  std::vector<Candidate> found;
  found.reserve(std::min(count, kNearGroups));
  for (size_t g = 0; g < count; ++g) {
    Candidate now = prove(groups.data() + g * 64, most, orders);
    now.index = g;
    if (now.orders == 0)
      panel.wide.push_back({.index = g});
    else
      found.push_back(now);
    if ((g + 1) % kNearGroups != 0 && g + 1 < count) continue;
    match(found, most, panel);
    found.clear();
  }
  std::sort(panel.plain.begin(), panel.plain.end(),
            [](Group a, Group b) { return a.index < b.index; });
}

/// Whether copies of x in other orders would hardly pay: nearly every group has a partner as it is.
bool needs_one_order(const std::vector<int8_t>& groups, int32_t bound) {
  Panel panel;
  classify(groups, bound, 1, panel);
  return panel.wide.empty() && panel.plain.size() * 16 <= groups.size() / 64 + 16;
}

bool is_permuted(const Panel& panel) {
  const auto moved = [](Group g) { return g.order != 0; };
  return std::any_of(panel.paired.begin(), panel.paired.end(), moved) ||
         std::any_of(panel.plain.begin(), panel.plain.end(), moved);
}

size_t stored_bytes(const Panel& panel) {
  return (panel.paired.size() + panel.plain.size()) * 64 + panel.wide.size() * 128;
}

// [k 0 and 2, k 1 and 3][16 columns][2 k] int16, the operands of vpmaddwd.
void store_wide(const int8_t* group, int8_t* out) {
  for (size_t pair = 0; pair < 2; ++pair) {
    for (size_t c = 0; c < 16; ++c) {
      const std::array<int16_t, 2> two = {group[c * 4 + pair], group[c * 4 + pair + 2]};
      std::memcpy(out + (pair * 16 + c) * 4, two.data(), 4);
    }
  }
}

// places[i]: where in k group i stands.
void store_panel(const std::vector<int8_t>& groups,
                 const std::vector<size_t>& places,
                 const Panel& panel,
                 int64_t k_padded,
                 int8_t* data,
                 int32_t* offsets,
                 PackedPanel& out) {
  out.data = data;
  out.offsets = offsets;
  out.paired = static_cast<int32_t>(panel.paired.size());
  out.plain = static_cast<int32_t>(panel.plain.size());
  out.wide = static_cast<int32_t>(panel.wide.size());
  for (const std::vector<Group>* list : {&panel.paired, &panel.plain}) {
    for (const Group g : *list) {
      const int8_t* from = groups.data() + g.index * 64;
      if (g.order == 0) {
        std::memcpy(data, from, 64);
      } else {
        for (size_t i = 0; i < 64; ++i) {
          data[i] = from[i / 4 * 4 + kOrder[g.order][i % 4]];
        }
      }
      data += 64;
      *offsets++ =
          static_cast<int32_t>(g.order * static_cast<size_t>(k_padded) + places[g.index] * 4);
    }
  }
  for (const Group g : panel.wide) {
    store_wide(groups.data() + g.index * 64, data);
    data += 128;
    *offsets++ = static_cast<int32_t>(places[g.index] * 4);
  }
}

void fill_sums(const int8_t* w, const int8_t* excess, int64_t stride, PackedWeights& packed) {
  auto* sums = packed.sums.as<int32_t>();
  for (int64_t c = 0; c < packed.n; ++c) {
    const int64_t first = c * stride;
    sums[c] = std::accumulate(w + first, w + first + packed.k, 0);
    if (excess != nullptr)
      sums[c] = std::accumulate(excess + first, excess + first + packed.k, sums[c]);
  }
}

} // namespace

int32_t shift_of(XRange x, Isa isa) {
  if (!x.is_signed || x.lo >= 0) return 0;
  return multiplies_in_int16(isa) ? -x.lo : 128;
}

PackedWeights pack_weights(const int8_t* w,
                           int64_t w_stride,
                           int64_t n,
                           int64_t k,
                           XRange x,
                           Isa isa,
                           int64_t reads,
                           const int8_t* excess) {
  PackedWeights packed;
  packed.isa = isa;
  packed.x = x;
  packed.shift = shift_of(x, isa);
  packed.n = n;
  packed.k = k;
  packed.k_padded = round_up(k, 4);
  const int32_t bound = std::max(x.hi + packed.shift, 1);
  const int64_t panel_count = (n + kColumnsPerPanel - 1) / kColumnsPerPanel;
  const auto own_groups = static_cast<size_t>(packed.k_padded / 4);
  const std::vector<size_t> more = groups_with_excess(excess, w_stride, n, k);
  std::vector<size_t> places(own_groups);
  std::iota(places.begin(), places.end(), size_t{0});
  places.insert(places.end(), more.begin(), more.end());
  const auto group_count = static_cast<int64_t>(places.size());

  size_t orders = reads * panel_count >= kMinReadsForOrders ? kOrders : 1;

  std::vector<Panel> panels;
  panels.reserve(static_cast<size_t>(panel_count));
  // Gathered twice rather than kept: the weights and what is packed of them are enough at a time.
  std::vector<int8_t> groups(static_cast<size_t>(group_count) * 64, 0);
  const auto gather = [&](int64_t p) {
    const int64_t columns = std::min(kColumnsPerPanel, n - p * kColumnsPerPanel);
    const int64_t first = p * kColumnsPerPanel * w_stride;
    const std::span all(groups);
    gather_panel(w + first, w_stride, columns, k, all.first(own_groups * 64));
    if (!more.empty())
      gather_some(excess + first, w_stride, columns, k, more, all.subspan(own_groups * 64));
  };
  size_t data_bytes = 0;
  bool permuted = false;
  for (int64_t p = 0; p < panel_count; ++p) {
    Panel& panel = panels.emplace_back();
    if (multiplies_in_int16(isa)) {
      gather(p);
      if (p == 0 && orders > 1 && needs_one_order(groups, bound)) orders = 1;
      classify(groups, bound, orders, panel);
    } else {
      panel.plain.reserve(static_cast<size_t>(group_count));
      for (size_t g = 0; g < static_cast<size_t>(group_count); ++g) {
        panel.plain.push_back({.index = g});
      }
    }
    data_bytes += stored_bytes(panel);
    permuted = permuted || is_permuted(panel);
  }
  packed.row_bytes = packed.k_padded * (permuted ? kOrders : 1);

  packed.data = AlignedBuffer(data_bytes);
  packed.panels = AlignedBuffer(panels.size() * sizeof(PackedPanel));
  packed.offsets = AlignedBuffer(static_cast<size_t>(panel_count * group_count) * sizeof(int32_t));
  packed.sums =
      AlignedBuffer(static_cast<size_t>(panel_count * kColumnsPerPanel) * sizeof(int32_t));
  int8_t* data = packed.data.as<int8_t>();
  int32_t* offsets = packed.offsets.as<int32_t>();
  for (size_t p = 0; p < panels.size(); ++p) {
    auto& stored = packed.panels.as<PackedPanel>()[p];
    stored.half = n - static_cast<int64_t>(p) * kColumnsPerPanel <= kColumnsPerPanel / 2;
    gather(static_cast<int64_t>(p));
    store_panel(groups, places, panels[p], packed.k_padded, data, offsets, stored);
    data += stored_bytes(panels[p]);
    offsets += group_count;
  }
  fill_sums(w, excess, w_stride, packed);
  return packed;
}

void fill_init(const PackedWeights& w,
               int32_t x_zero_point,
               const int32_t* bias_i32,
               int32_t* init) {
  const int32_t zero = x_zero_point + w.shift;
  const int64_t padded = round_up(w.n, kColumnsPerPanel);
  const int32_t* sums = w.sums.as<int32_t>();
  for (int64_t c = 0; c < padded; ++c) {
    const uint32_t bias = bias_i32 != nullptr && c < w.n ? static_cast<uint32_t>(bias_i32[c]) : 0U;
    init[c] =
        static_cast<int32_t>(bias - static_cast<uint32_t>(zero) * static_cast<uint32_t>(sums[c]));
  }
}

IgemmColumns make_columns(const PackedWeights& w, const ColumnArgs& args) {
  IgemmColumns columns;
  const int64_t padded = round_up(w.n, kColumnsPerPanel);
  columns.storage = AlignedBuffer(static_cast<size_t>(padded) * 12);
  columns.init = columns.storage.as<int32_t>();
  columns.multiplier = columns.storage.as<float>() + padded;
  columns.bias = columns.multiplier + padded;
  fill_init(w, args.x_zero_point, args.bias_i32, columns.init);
  for (int64_t c = 0; c < w.n; ++c) {
    if (args.multiplier != nullptr) {
      columns.multiplier[c] = args.multiplier[args.multiplier_count == 1 ? 0 : c];
    }
    if (args.bias != nullptr) columns.bias[c] = args.bias[c];
  }
  columns.bounded = true;
  for (int64_t c = 0; c < w.n; ++c) {
    const double added = args.bias_i32 != nullptr ? std::fabs(double{1} * args.bias_i32[c]) : 0.0;
    columns.bounded =
        columns.bounded && is_bounded(columns.multiplier[c], columns.bias[c], w.k, added);
  }
  return columns;
}

} // namespace octet::kernels

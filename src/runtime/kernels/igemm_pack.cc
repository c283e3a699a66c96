// SPDX-License-Identifier: Apache-2.0
// Packing of int8 weights into panels: groups of 4 k x 16 columns, as igemm_kinds.h has them where
// sums saturate, else in k order.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>
#include <span>
#include <vector>

#include "runtime/kernels/igemm.h"
#include "runtime/kernels/igemm_kinds.h"
#include "runtime/kernels/igemm_tile.h"

namespace octet::kernels {
namespace {

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

/// Weights, panel by panel. Groups are gathered whenever they are asked for: the weights and what is
/// packed of them are enough at a time.
class Panels {
 public:
  Panels(const int8_t* w, int64_t stride, int64_t n, int64_t k, const int8_t* excess)
      : w_(w), excess_(excess), stride_(stride), n_(n), k_(k),
        own_groups_(static_cast<size_t>(round_up(k, 4) / 4)),
        more_(groups_with_excess(excess, stride, n, k)), places_(own_groups_) {
    std::iota(places_.begin(), places_.end(), size_t{0});
    places_.insert(places_.end(), more_.begin(), more_.end());
    groups_.resize(places_.size() * kPanelGroupBytes);
  }

  int64_t count() const { return (n_ + kColumnsPerPanel - 1) / kColumnsPerPanel; }
  bool is_half(int64_t p) const { return columns_of(p) <= kColumnsPerPanel / 2; }
  /// Where in k each group stands.
  const std::vector<size_t>& places() const { return places_; }

  const std::vector<int8_t>& groups_of(int64_t p) {
    const int64_t first = p * kColumnsPerPanel * stride_;
    const std::span all(groups_);
    const size_t own = own_groups_ * kPanelGroupBytes;
    gather_panel(w_ + first, stride_, columns_of(p), k_, all.first(own));
    if (!more_.empty())
      gather_some(excess_ + first, stride_, columns_of(p), k_, more_, all.subspan(own));
    return groups_;
  }

 private:
  int64_t columns_of(int64_t p) const {
    return std::min(kColumnsPerPanel, n_ - p * kColumnsPerPanel);
  }

  const int8_t *w_, *excess_;
  int64_t stride_, n_, k_;
  size_t own_groups_;
  std::vector<size_t> more_, places_;
  std::vector<int8_t> groups_;
};

std::vector<PanelKinds> kinds_in_order(const Panels& panels) {
  PanelKinds one;
  for (size_t g = 0; g < panels.places().size(); ++g)
    one.all.plain.push_back(g);
  return std::vector<PanelKinds>(static_cast<size_t>(panels.count()), one);
}

std::vector<PanelKinds> proven_kinds(Panels& panels, int32_t bound, bool may_split) {
  PanelWidth width = PanelWidth::kWhole; // as the first panel says for all whole ones
  std::vector<PanelKinds> out;
  for (int64_t p = 0; p < panels.count(); ++p) {
    const std::vector<int8_t>& groups = panels.groups_of(p);
    if (p == 0 && may_split && gains_by_halves(groups, bound)) width = PanelWidth::kHalves;
    const bool alone = may_split && panels.is_half(p);
    out.push_back(choose_kinds(groups, bound, alone ? PanelWidth::kLeftHalf : width));
  }
  return out;
}

/// How many there are of each kind.
PackedGroups counted(const Kinds& kinds) {
  PackedGroups out;
  out.paired = static_cast<int32_t>(kinds.paired.size());
  out.plain = static_cast<int32_t>(kinds.plain.size());
  out.flipped_paired = static_cast<int32_t>(kinds.flipped_paired.size());
  out.flipped = static_cast<int32_t>(kinds.flipped.size());
  return out;
}

// [columns][4 k] |w|, then what x is read through; `more` is of each column.
void store_flipped(const int8_t* group, size_t columns, int8_t* out, std::span<uint32_t> more) {
  for (size_t i = 0; i < columns * 4; ++i) {
    const auto negative = static_cast<int8_t>(group[i] < 0 ? -1 : 0);
    out[i] = static_cast<int8_t>((group[i] ^ negative) - negative); // |w|, 128 as u8
    out[columns * 4 + i] = static_cast<int8_t>(negative ^ 0x80);
  }
  for (size_t c = 0; c < columns; ++c) {
    int32_t sum = 0;
    for (size_t i = c * 4; i < c * 4 + 4; ++i)
      sum += 128 * group[i] - std::min<int32_t>(group[i], 0);
    more[c] += static_cast<uint32_t>(sum);
  }
}

// Stores groups of some columns at `data` and `offsets`, and moves both on.
// places[i]: where in k group i stands.
PackedGroups store_groups(const std::vector<int8_t>& groups,
                          const std::vector<size_t>& places,
                          const Kinds& kinds,
                          Range columns,
                          int8_t*& data,
                          int32_t*& offsets) {
  PackedGroups out = counted(kinds);
  out.data = data;
  out.offsets = offsets;
  const auto count = static_cast<size_t>(columns.count());
  const auto from = [&](size_t g) { // not asked for where k is 0: nothing is stored there
    *offsets++ = static_cast<int32_t>(places[g] * 4);
    return groups.data() + g * kPanelGroupBytes + columns.begin * 4;
  };
  for (const std::vector<size_t>* list : {&kinds.paired, &kinds.plain}) {
    for (const size_t g : *list) {
      std::memcpy(data, from(g), count * 4);
      data += count * 4;
    }
  }
  std::array<uint32_t, kPanelColumns> more{};
  for (const std::vector<size_t>* list : {&kinds.flipped_paired, &kinds.flipped}) {
    for (const size_t g : *list) {
      store_flipped(from(g), count, data, more);
      data += count * 8;
    }
  }
  if (kinds.all_flipped() > 0) {
    std::memcpy(data, more.data(), count * sizeof(int32_t));
    data += count * sizeof(int32_t);
  }
  return out;
}

void store_panels(Panels& panels, std::span<const PanelKinds> kinds, PackedWeights& packed) {
  size_t data_bytes = 0, groups = 0;
  for (const PanelKinds& panel : kinds) {
    for (const Kinds* some : {&panel.all, &panel.right}) {
      const int64_t columns = panel.split ? kColumnsPerPanel / 2 : kColumnsPerPanel;
      data_bytes += static_cast<size_t>(counted(*some).bytes(columns));
      groups += some->count();
    }
  }
  packed.data = AlignedBuffer(data_bytes);
  packed.panels = AlignedBuffer(kinds.size() * sizeof(PackedPanel));
  packed.offsets = AlignedBuffer(groups * sizeof(int32_t));
  int8_t* data = packed.data.as<int8_t>();
  int32_t* offsets = packed.offsets.as<int32_t>();
  for (int64_t p = 0; p < panels.count(); ++p) {
    const PanelKinds& panel = kinds[static_cast<size_t>(p)];
    PackedPanel& stored = *new (packed.panels.as<PackedPanel>() + p) PackedPanel();
    stored.half = panels.is_half(p);
    stored.split = panel.split;
    const auto store = [&](const Kinds& some, Range columns) {
      return store_groups(panels.groups_of(p), panels.places(), some, columns, data, offsets);
    };
    constexpr int64_t kMiddle = kColumnsPerPanel / 2;
    stored.groups = store(panel.all, {0, panel.split ? kMiddle : kColumnsPerPanel});
    if (panel.split && !stored.half) stored.right = store(panel.right, {kMiddle, kColumnsPerPanel});
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
                           const int8_t* excess) {
  PackedWeights packed;
  packed.isa = isa;
  packed.x = x;
  packed.shift = shift_of(x, isa);
  packed.n = n;
  packed.k = k;
  packed.k_padded = round_up(k, 4);
  Panels panels(w, w_stride, n, k, excess);
  const int32_t bound = std::max(x.hi + packed.shift, 1);
  store_panels(panels,
               multiplies_in_int16(isa) ? proven_kinds(panels, bound, tile_kernels(isa).splits)
                                        : kinds_in_order(panels),
               packed);
  packed.sums =
      AlignedBuffer(static_cast<size_t>(panels.count() * kColumnsPerPanel) * sizeof(int32_t));
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

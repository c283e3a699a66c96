// SPDX-License-Identifier: Apache-2.0
#include "runtime/pack_forms.h"

#include <algorithm>
#include <string>

#include "runtime/kernels/depthwise.h"
#include "runtime/kernels/igemm_tile.h"
#include "runtime/kernels/sgemm_tile.h"
#include "runtime/kernels/winograd.h"

namespace octet::runtime {
namespace {

using kernels::AlignedBuffer;
using kernels::ConvShape;
using kernels::DepthwiseWeights;
using kernels::kColumnsPerPanel;
using kernels::NarrowWeights;
using kernels::PackedCodes;
using kernels::PackedConv;
using kernels::PackedFloat;
using kernels::PackedFloatConv;
using kernels::PackedGroups;
using kernels::PackedPanel;
using kernels::PackedTransposedConv;
using kernels::PackedWeights;
using kernels::PhaseAxis;
using kernels::round_up;
using kernels::WindowGroup;

size_t bytes_of(int64_t count, size_t each) {
  return static_cast<size_t>(count) * each;
}

int64_t panels_of(int64_t n) {
  return (n + kColumnsPerPanel - 1) / kColumnsPerPanel;
}

/// Of the columns of a panel, or of its half: one for four k, and one more where they exceed int8.
int64_t groups_of(const PackedWeights& pack) {
  return pack.n == 0 ? pack.k_padded / 4 : pack.panels.as<PackedPanel>()->groups.count();
}

/// Whether the order of the groups says itself.
bool in_order(const PackedWeights& pack, int64_t groups) {
  // multiplying in int16 takes groups of several kinds, in an order of their own
  return !kernels::multiplies_in_int16(pack.isa) && groups == pack.k_padded / 4;
}

void write_kinds(PackWriter& to, const PackedGroups& groups) {
  const auto& [data, offsets, paired, plain, flipped_paired, flipped, wide] = groups;
  to.number(paired);
  to.number(flipped_paired);
  to.number(flipped);
}

void write_kinds(PackWriter& to, const PackedWeights& pack) {
  to.number(groups_of(pack));
  if (in_order(pack, groups_of(pack))) return;
  const auto* panels = pack.panels.as<PackedPanel>();
  for (int64_t p = 0; p < panels_of(pack.n); ++p) {
    const auto& [groups, right, split, half, flip, runs, run_count, shift, more] = panels[p];
    to.number(split);
    write_kinds(to, groups);
    if (split && !half) write_kinds(to, right);
  }
  to.small(pack.offsets);
}

/// How many of `count` groups are of which kind.
void read_kinds(PackReader& from, int64_t count, bool has_kinds, PackedGroups& groups) {
  groups.paired = from.number<int32_t>();
  groups.flipped_paired = from.number<int32_t>();
  groups.flipped = from.number<int32_t>();
  for (const int32_t some : {groups.paired, groups.flipped_paired, groups.flipped})
    from.expect(some >= 0);
  from.expect(groups.paired % 2 == 0 && groups.flipped_paired % 2 == 0);
  const int64_t plain = count - groups.count();
  from.expect(plain >= 0 && (has_kinds || plain == count));
  groups.plain = from.ok() ? static_cast<int32_t>(plain) : 0;
}

/// Where the groups of `columns` columns lie, behind those that were placed before. Checks what
/// kernels follow.
class GroupPlaces {
 public:
  GroupPlaces(PackReader& from, PackedWeights& pack) : from_(from), pack_(pack) {}

  void place(PackedGroups& groups, int64_t columns) {
    groups.data = pack_.data.as<int8_t>() + bytes_;
    groups.offsets = pack_.offsets.as<int32_t>() + groups_;
    const int64_t count = groups.count();
    for (int64_t g = 0; g < count; ++g)
      from_.expect(groups.offsets[g] >= 0 && groups.offsets[g] % 4 == 0 &&
                   groups.offsets[g] < pack_.k_padded);
    groups_ += count;
    bytes_ += groups.bytes(columns);
  }
  int64_t bytes() const { return bytes_; }

 private:
  PackReader& from_;
  PackedWeights& pack_;
  int64_t groups_ = 0, bytes_ = 0;
};

/// Fills the panels, of which data lie one behind another.
void read_kinds(PackReader& from, PackedWeights& pack) {
  const int64_t own = pack.k_padded / 4, count = panels_of(pack.n);
  const auto groups = from.number<int64_t>();
  from.expect(groups >= own && groups <= 2 * own);
  if (!from.ok()) return;
  const bool says_itself = in_order(pack, groups);
  const bool has_kinds = kernels::multiplies_in_int16(pack.isa);
  const bool splits = kernels::tile_kernels(pack.isa).splits;
  pack.panels = AlignedBuffer(bytes_of(count, sizeof(PackedPanel)));
  auto* panels = pack.panels.as<PackedPanel>();
  int64_t all_groups = 0;
  for (int64_t p = 0; p < count; ++p) {
    PackedPanel& panel = *new (panels + p) PackedPanel();
    panel.half = pack.n - p * kColumnsPerPanel <= kColumnsPerPanel / 2;
    if (says_itself) {
      panel.groups.plain = static_cast<int32_t>(groups);
    } else {
      panel.split = from.number<bool>();
      from.expect(splits || !panel.split);
      read_kinds(from, groups, has_kinds, panel.groups);
      if (panel.split && !panel.half) read_kinds(from, groups, has_kinds, panel.right);
    }
    all_groups += panel.groups.count() + panel.right.count();
  }
  if (!says_itself) {
    pack.offsets = from.small();
  } else {
    pack.offsets = AlignedBuffer(bytes_of(count * groups, sizeof(int32_t)));
    for (int64_t i = 0; i < count * groups; ++i)
      pack.offsets.as<int32_t>()[i] = static_cast<int32_t>(i % groups * 4);
  }
  from.expect(pack.offsets.bytes() == bytes_of(all_groups, sizeof(int32_t)));
  if (!from.ok()) return;
  GroupPlaces places(from, pack);
  for (int64_t p = 0; p < count; ++p) {
    PackedPanel& panel = panels[p];
    const int64_t columns = panel.split ? kColumnsPerPanel / 2 : kColumnsPerPanel;
    places.place(panel.groups, columns);
    if (panel.split && !panel.half) places.place(panel.right, columns);
  }
  from.expect(static_cast<int64_t>(pack.data.bytes()) == places.bytes());
}

/// The packed form of float columns.
int64_t float_bytes(const PackedFloat& pack) {
  return round_up(pack.n, pack.width) * pack.k * int64_t{sizeof(float)};
}

void write_narrow(PackWriter& to, const NarrowWeights& pack) {
  const auto& [isa, lanes, outputs, inputs, panels, data, index] = pack;
  to.number(lanes);
  to.section(data);
}

/// All but the weights follows from the shape.
void read_narrow(PackReader& from, NarrowWeights& pack, const ConvShape& shape, Isa isa) {
  const auto lanes = from.number<int64_t>();
  AlignedBuffer data = from.section();
  if (!from.ok() || lanes == 0) return;
  const auto count = static_cast<size_t>(shape.out_c * shape.k());
  from.expect(data.bytes() / sizeof(float) >= count);
  if (!from.ok()) return;
  const std::vector<float> zeros(count, 0.0F);
  pack = kernels::pack_narrow(zeros.data(), shape, isa);
  from.expect(pack.lanes == lanes && pack.data.bytes() == data.bytes());
  if (from.ok()) pack.data = std::move(data);
}

void write_depthwise(PackWriter& to, const DepthwiseWeights& pack) {
  const auto& [taps, data, blocks, whole_lines, shift, channels] = pack;
  to.section(data);
  to.small(shift);
}

/// All but the weights and what is made of them follows from the shape.
void read_depthwise(PackReader& from, PackedConv& pack) {
  AlignedBuffer data = from.section();
  AlignedBuffer shift = from.small();
  const auto count = static_cast<size_t>(pack.shape.out_c * pack.shape.k());
  from.expect(data.bytes() >= count);
  if (!from.ok()) return;
  const std::vector<int8_t> zeros(count, 0);
  kernels::pack_depthwise(zeros.data(), pack);
  DepthwiseWeights& made = pack.depthwise;
  from.expect(made.data.bytes() == data.bytes() && made.shift.bytes() == shift.bytes());
  if (!from.ok()) return;
  made.data = std::move(data);
  made.shift = std::move(shift);
}

void write_windows(PackWriter& to, const std::vector<WindowGroup>& groups) {
  std::vector<int32_t> numbers;
  numbers.reserve(groups.size() * 2);
  for (const auto& [row, column] : groups)
    numbers.insert(numbers.end(), {row, column});
  to.list(numbers);
}

void read_windows(PackReader& from, PackedConv& pack) {
  const std::vector<int32_t> numbers = from.list<int32_t>();
  from.expect(numbers.size() % 2 == 0);
  if (!from.ok()) return;
  const ConvShape& s = pack.shape;
  const kernels::WindowRuns runs(s);
  pack.window.reserve(numbers.size() / 2);
  for (size_t i = 0; i < numbers.size(); i += 2) {
    const WindowGroup g{numbers[i], numbers[i + 1]};
    from.expect(g.row >= 0 && g.row < s.kernel_h && runs.has(g.column));
    pack.window.push_back(g);
  }
}

/// Transformed weights and the sums.
void read_winograd(PackReader& from, PackedConv& pack) {
  const ConvShape& s = pack.shape;
  from.expect(kernels::takes_winograd(s, pack.isa) && !pack.is_depthwise && pack.window.empty() &&
              pack.tap_sums.bytes() == 0);
  AlignedBuffer sums = from.small();
  if (!from.ok()) return;
  from.expect(pack.winograd.bytes() == kernels::winograd_bytes(s) &&
              sums.bytes() == bytes_of(panels_of(s.out_c) * kColumnsPerPanel, sizeof(int32_t)));
  pack.groups.push_back(kernels::winograd_sums(s, pack.x, pack.isa, std::move(sums)));
}

void write_axis(PackWriter& to, const std::vector<PhaseAxis>& phases) {
  for (const auto& [taps, back] : phases) {
    to.list(taps);
    to.list(back);
  }
}

std::vector<PhaseAxis>
read_axis(PackReader& from, int64_t kernel, int64_t stride, int64_t dilation) {
  std::vector<PhaseAxis> phases;
  for (int64_t i = 0; i < stride && from.ok(); ++i) {
    PhaseAxis& phase = phases.emplace_back();
    phase.taps = from.list<int64_t>();
    phase.back = from.list<int64_t>();
    const auto within = [](const std::vector<int64_t>& list, int64_t most) {
      return std::all_of(list.begin(), list.end(),
                         [most](int64_t v) { return v >= 0 && v <= most; });
    };
    from.expect(phase.taps.size() == phase.back.size() && within(phase.taps, kernel - 1) &&
                within(phase.back, (kernel - 1) * dilation / stride));
  }
  return phases;
}

} // namespace

std::vector<int64_t> numbers_of(const ProductForm& f) {
  return {f.n, f.k, f.x.is_signed, f.x.lo, f.x.hi};
}

std::vector<int64_t> numbers_of(const WindowForm& f) {
  const ConvShape& s = f.shape;
  return {s.batch,      s.in_h,     s.in_w,        s.in_c,     s.out_h,   s.out_w,    s.out_c,
          s.kernel_h,   s.kernel_w, s.stride_h,    s.stride_w, s.pad_top, s.pad_left, s.dilation_h,
          s.dilation_w, s.groups,   f.x.is_signed, f.x.lo,     f.x.hi};
}

std::vector<int64_t> numbers_of(const CodesForm& f) {
  return {f.n, f.k, static_cast<int64_t>(f.type)};
}

void write_pack(PackWriter& to, const PackedWeights& pack) {
  const auto& [isa, x, shift, n, k, k_padded, data, panels, offsets, sums] = pack;
  to.section(data);
  to.small(sums);
  write_kinds(to, pack);
}

void read_pack(PackReader& from, PackedWeights& pack, const ProductForm& form, Isa isa) {
  pack.isa = isa;
  pack.x = form.x;
  pack.shift = kernels::shift_of(form.x, isa);
  pack.n = form.n;
  pack.k = form.k;
  pack.k_padded = round_up(form.k, 4);
  pack.data = from.section();
  pack.sums = from.small();
  from.expect(form.n >= 0 && form.k >= 0 && form.k <= kernels::kMaxK);
  if (!from.ok()) return;
  const int64_t columns = panels_of(form.n) * kColumnsPerPanel;
  from.expect(pack.sums.bytes() == bytes_of(columns, sizeof(int32_t)) &&
              pack.data.bytes() >= bytes_of(round_up(form.n, kColumnsPerPanel / 2),
                                            static_cast<size_t>(pack.k_padded)));
  if (from.ok()) read_kinds(from, pack);
}

void write_pack(PackWriter& to, const PackedConv& pack) {
  const auto& [isa, shape, x, groups, depthwise, is_depthwise, window, tap_sums, winograd] = pack;
  to.number(is_depthwise);
  write_windows(to, window);
  to.small(tap_sums);
  to.section(winograd);
  if (winograd.bytes() > 0) return to.small(groups.front().sums);
  if (is_depthwise) write_depthwise(to, depthwise);
  for (const PackedWeights& group : groups)
    write_pack(to, group);
}

void read_pack(PackReader& from, PackedConv& pack, const WindowForm& form, Isa isa) {
  const ConvShape& s = form.shape;
  pack.isa = isa;
  pack.shape = s;
  pack.x = form.x;
  pack.is_depthwise = from.number<bool>();
  read_windows(from, pack);
  pack.tap_sums = from.small();
  pack.winograd = from.section();
  from.expect(pack.is_depthwise == s.depthwise());
  if (pack.winograd.bytes() > 0) return read_winograd(from, pack);
  const bool has_sums = !pack.window.empty() && kernels::tile_kernels(isa).takes_runs;
  const int64_t sums = has_sums ? s.kernel_h * s.kernel_w * panels_of(s.out_c) : 0;
  from.expect(pack.tap_sums.bytes() == bytes_of(sums * kColumnsPerPanel, sizeof(int32_t)));
  if (!from.ok()) return;
  ProductForm group{s.group_out(), s.k(), form.x};
  int64_t count = s.groups;
  if (pack.is_depthwise) {
    read_depthwise(from, pack);
    from.expect(pack.window.empty());
    group = {s.out_c, s.k(), form.x};
    group.x.lo = 0; // pack_conv: only the sums are used
    isa = Isa::kScalar;
    count = 1;
  } else if (!pack.window.empty()) {
    const kernels::WindowRuns runs(s);
    group = {s.out_c, s.kernel_h * runs.of_row * runs.padded(), form.x};
    from.expect(s.groups == 1);
  }
  for (int64_t g = 0; g < count && from.ok(); ++g)
    read_pack(from, pack.groups.emplace_back(), group, isa);
  if (!from.ok() || pack.window.empty()) return;
  from.expect(bytes_of(std::ssize(pack.window), sizeof(int32_t)) ==
              pack.groups.front().offsets.bytes());
}

void write_pack(PackWriter& to, const PackedFloat& pack) {
  const auto& [isa, n, k, width, data] = pack;
  to.section(data);
}

void read_pack(PackReader& from, PackedFloat& pack, const ProductForm& form, Isa isa) {
  pack.isa = isa;
  pack.n = form.n;
  pack.k = form.k;
  pack.width = kernels::float_tile_kernels(isa, form.n).width;
  pack.data = from.section();
  from.expect(form.n >= 0 && form.k >= 0 &&
              static_cast<int64_t>(pack.data.bytes()) == float_bytes(pack));
}

void write_pack(PackWriter& to, const PackedCodes& pack) {
  const auto& [isa, type, n, k, width, has_nan, data] = pack;
  to.number(has_nan);
  to.section(data);
}

void read_pack(PackReader& from, PackedCodes& pack, const CodesForm& form, Isa isa) {
  pack.isa = isa;
  pack.type = form.type;
  pack.n = form.n;
  pack.k = form.k;
  pack.width = kernels::float_tile_kernels(isa, form.n).width;
  pack.has_nan = from.number<bool>();
  pack.data = from.section();
  from.expect(form.n >= 0 && form.k >= 0 &&
              static_cast<int64_t>(pack.data.bytes()) ==
                  round_up(form.n, pack.width) / pack.width * pack.panel_bytes());
}

void write_pack(PackWriter& to, const PackedFloatConv& pack) {
  const auto& [shape, narrow, groups, finite] = pack;
  to.number(finite);
  write_narrow(to, narrow);
  for (const PackedFloat& group : groups)
    write_pack(to, group);
}

void read_pack(PackReader& from, PackedFloatConv& pack, const WindowForm& form, Isa isa) {
  const ConvShape& s = form.shape;
  pack.shape = s;
  pack.finite = from.number<bool>();
  read_narrow(from, pack.narrow, s, isa);
  if (pack.narrow.lanes > 0) return;
  for (int64_t g = 0; g < s.groups && from.ok(); ++g)
    read_pack(from, pack.groups.emplace_back(), ProductForm{s.group_out(), s.k()}, isa);
}

void write_pack(PackWriter& to, const PackedTransposedConv& pack) {
  const auto& [shape, rows, columns, weights] = pack;
  write_axis(to, rows);
  write_axis(to, columns);
  for (const PackedFloat& one : weights)
    write_pack(to, one);
}

void read_pack(PackReader& from, PackedTransposedConv& pack, const WindowForm& form, Isa isa) {
  const ConvShape& s = form.shape;
  pack.shape = s;
  pack.rows = read_axis(from, s.kernel_h, s.stride_h, s.dilation_h);
  pack.columns = read_axis(from, s.kernel_w, s.stride_w, s.dilation_w);
  for (const PhaseAxis& row : pack.rows)
    for (const PhaseAxis& column : pack.columns)
      for (int64_t g = 0; g < s.groups && from.ok(); ++g) {
        const auto taps = static_cast<int64_t>(row.taps.size() * column.taps.size());
        read_pack(from, pack.weights.emplace_back(),
                  ProductForm{s.group_out(), taps * s.group_in()}, isa);
      }
}

} // namespace octet::runtime

// SPDX-License-Identifier: Apache-2.0
#include "passes/lower/layout.h"

#include <algorithm>
#include <numeric>

#include "core/check.h"

namespace octet::lowering {

Layout Layout::of(std::span<const int64_t> axes) {
  const auto rank = static_cast<int64_t>(axes.size());
  OCTET_CHECK(rank <= kMaxRank);
  Layout layout;
  bool moved = false;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t axis = axes[static_cast<size_t>(i)];
    OCTET_CHECK(axis >= 0 && axis < rank);
    layout.axes_[static_cast<size_t>(i)] = static_cast<int8_t>(axis);
    moved = moved || axis != i;
  }
  if (!moved) return {};
  layout.rank_ = static_cast<int8_t>(rank);
  return layout;
}

Layout Layout::channels_last(int64_t rank) {
  if (rank < 3 || rank > kMaxRank) return {};
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), int64_t{0});
  std::rotate(axes.begin() + 1, axes.begin() + 2, axes.end());
  return of(axes);
}

std::vector<int64_t> Layout::axes(int64_t rank) const {
  OCTET_CHECK(!flat_ && (rank_ == 0 || rank_ == rank));
  std::vector<int64_t> out(static_cast<size_t>(rank));
  if (rank_ == 0)
    std::iota(out.begin(), out.end(), int64_t{0});
  else
    std::copy_n(axes_.begin(), rank, out.begin());
  return out;
}

int64_t Layout::stored_axis(int64_t source_axis, int64_t rank) const {
  const std::vector<int64_t> stored = axes(rank);
  return std::find(stored.begin(), stored.end(), source_axis) - stored.begin();
}

Layout Layout::transposed(std::span<const int64_t> perm) const {
  const auto rank = static_cast<int64_t>(perm.size());
  std::vector<int64_t> became(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    became[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  std::vector<int64_t> out;
  for (const int64_t axis : axes(rank))
    out.push_back(became[static_cast<size_t>(axis)]);
  return of(out);
}

Layout Layout::without(std::span<const int64_t> source_axes, int64_t rank) const {
  const auto gone = [&](int64_t axis) {
    return std::find(source_axes.begin(), source_axes.end(), axis) != source_axes.end();
  };
  std::vector<int64_t> out;
  for (const int64_t axis : axes(rank)) {
    if (gone(axis)) continue;
    int64_t before = 0;
    for (int64_t other = 0; other < axis; ++other)
      before += gone(other) ? 1 : 0;
    out.push_back(axis - before);
  }
  return of(out);
}

std::vector<int64_t> permutation(const Layout& from, const Layout& to, int64_t rank) {
  std::vector<int64_t> out;
  for (const int64_t axis : to.axes(rank))
    out.push_back(from.stored_axis(axis, rank));
  return out;
}

} // namespace octet::lowering

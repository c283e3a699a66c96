// SPDX-License-Identifier: Apache-2.0
// Layout: how the elements of a lowered tensor are ordered, compared with the source's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace octet::lowering {

/// An order of the source's axes, or that of an image that was flattened. The default is the
/// source's own.
class Layout {
 public:
  static constexpr int64_t kMaxRank = 8;
  static const Layout kPlain;    ///< as in the source
  static const Layout kNhwc;     ///< source [N, C, H, W], stored [N, H, W, C]
  static const Layout kFlatNhwc; ///< source [N, C*H*W], stored [N, H*W*C]

  constexpr Layout() = default;
  /// Stored axis i holds source axis axes[i]: a permutation of at most kMaxRank axes.
  static Layout of(std::span<const int64_t> axes);
  /// Channels, the second axis, innermost; the source's order below three axes.
  static Layout channels_last(int64_t rank);

  constexpr bool operator==(const Layout& other) const {
    return flat_ == other.flat_ && rank_ == other.rank_ && axes_ == other.axes_;
  }
  constexpr bool is_plain() const { return rank_ == 0 && !flat_; }
  constexpr bool is_flat() const { return flat_; }

  /// The source axes in stored order. Not of a flattened image.
  std::vector<int64_t> axes(int64_t rank) const;
  /// Where a source axis is stored.
  int64_t stored_axis(int64_t source_axis, int64_t rank) const;
  /// The order of Transpose(x, perm), where x is stored like this: no element moves.
  Layout transposed(std::span<const int64_t> perm) const;
  /// The order without some source axes (in [0, rank)), as Squeeze and reductions leave it.
  Layout without(std::span<const int64_t> source_axes, int64_t rank) const;

 private:
  std::array<int8_t, kMaxRank> axes_{};
  int8_t rank_ = 0; ///< 0: the source's order
  bool flat_ = false;

  constexpr Layout(std::array<int8_t, kMaxRank> axes, int8_t rank, bool flat)
      : axes_(axes), rank_(rank), flat_(flat) {}
};

inline constexpr Layout Layout::kPlain{};
inline constexpr Layout Layout::kNhwc{{0, 2, 3, 1}, 4, false};
inline constexpr Layout Layout::kFlatNhwc{{}, 0, true};

/// The `perm` of the Transpose that brings a tensor from one order to the other; neither is flat.
std::vector<int64_t> permutation(const Layout& from, const Layout& to, int64_t rank);

} // namespace octet::lowering

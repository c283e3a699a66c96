// SPDX-License-Identifier: Apache-2.0
// Which groups of 4 k a panel stores how, where the instruction set multiplies with vpmaddubsw, whose
// int16 results saturate: each group of 4 k x 16 columns is proven exact for x <= U or stored flipped:
// with x >= 0 the extreme sums of a lane are U * (sum of positive weights) and U * (sum of negative
// ones). Two groups whose lanes stay within int16 when added are stored as a couple. Halves of a
// panel have fewer lanes that have to agree: they are stored apart where that pays.
//
// Flipped: u8 |w| meets int8 x - 128 where w >= 0, else its complement 127 - x, which needs no proof: a
// lane stays within -128 and 127 times the sum of |w|, which is at most 256. Couples are those of which this
// sum is at most 256, too. What stands against x (sum of w * x = sum of |w| * flipped x + 128 * sum of
// w >= 0 + 127 * sum of w < 0) is a constant of each column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace octet::kernels {

constexpr size_t kPanelColumns = 16;
constexpr size_t kPanelGroupBytes = 64; ///< [16 columns][4 k]

/// Which groups of some columns, counted in k order, are stored how.
struct Kinds {
  std::vector<size_t> paired; ///< two by two
  std::vector<size_t> plain;
  std::vector<size_t> flipped_paired; ///< two by two
  std::vector<size_t> flipped;

  size_t all_flipped() const { return flipped_paired.size() + flipped.size(); }
  size_t count() const { return paired.size() + plain.size() + all_flipped(); }
};

/// How a panel is stored: all columns together, or its halves.
struct PanelKinds {
  Kinds all; ///< or of columns 0 to 7
  Kinds right;
  bool split = false;
};

enum class PanelWidth : uint8_t { kWhole, kHalves, kLeftHalf };

// `groups`: a panel's in k order, kPanelGroupBytes each. `bound`: the largest x.

PanelKinds choose_kinds(const std::vector<int8_t>& groups, int32_t bound, PanelWidth width);
/// Whether the halves of this panel are faster apart.
bool gains_by_halves(const std::vector<int8_t>& groups, int32_t bound);

} // namespace octet::kernels

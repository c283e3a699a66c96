// SPDX-License-Identifier: Apache-2.0
// Which groups of 4 k a panel stores how, where the instruction set multiplies with vpmaddubsw, whose
// int16 results saturate: each group of 4 k x 16 columns is proven exact for x <= U or stored widened:
// with x >= 0 the extreme sums of a lane are U * (sum of positive weights) and U * (sum of negative
// ones). Two groups whose lanes stay within int16 when added are stored as a couple. Halves of a
// panel have fewer lanes that have to agree: they are stored apart where that pays.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace octet::kernels {

constexpr size_t kPanelColumns = 16;
constexpr size_t kPanelGroupBytes = 64; ///< [16 columns][4 k]

/// Orders of the four k of a group; rows of x come in as many copies (PermuteFn).
constexpr size_t kOrders = 3;
constexpr std::array<std::array<size_t, 4>, kOrders> kOrder = {
    {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 2, 1}}};

struct KindGroup {
  size_t index = 0; ///< in k order
  size_t order = 0; ///< of kOrder
};

/// Which groups of some columns are stored how.
struct Kinds {
  std::vector<KindGroup> paired; ///< two by two
  std::vector<KindGroup> plain;
  std::vector<KindGroup> wide;

  size_t count() const { return paired.size() + plain.size() + wide.size(); }
  bool permuted() const;
};

/// How a panel is stored: all columns together, or its halves.
struct PanelKinds {
  Kinds all; ///< or of columns 0 to 7
  Kinds right;
  bool split = false;
};

enum class PanelWidth : uint8_t { kWhole, kHalves, kLeftHalf };

// `groups`: a panel's in k order, kPanelGroupBytes each. `bound`: the largest x. `orders`: how many.

PanelKinds
choose_kinds(const std::vector<int8_t>& groups, int32_t bound, size_t orders, PanelWidth width);
/// Whether copies of x in other orders would hardly pay: nearly every group has a partner as it is.
bool needs_one_order(const std::vector<int8_t>& groups, int32_t bound);
/// Whether the halves of this panel are faster apart.
bool gains_by_halves(const std::vector<int8_t>& groups, int32_t bound, size_t orders);

} // namespace octet::kernels

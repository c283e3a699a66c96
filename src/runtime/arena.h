// SPDX-License-Identifier: Apache-2.0
// Memory planning: values that live at the same time get different places in one block.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace octet::runtime {

/// A value's size and the steps, first and last, between which its bytes must stay.
struct Lifetime {
  size_t size_bytes = 0;
  int first = 0, last = 0;
};

struct ArenaPlan {
  std::vector<size_t> offsets; ///< one for each lifetime, multiples of 64
  size_t size_bytes = 0;
};

/// First fit, largest first.
ArenaPlan plan_arena(std::span<const Lifetime> values);

/// Places for values whose sizes change from run to run while their lifetimes stay: each is as
/// large as its value ever was.
class Layout {
 public:
  explicit Layout(std::vector<Lifetime> values);
  /// Whether these are as many values that live as long.
  bool fits(std::span<const Lifetime> values) const;
  /// Makes room for values that fit(); true where the places had to change.
  bool hold(std::span<const Lifetime> values);
  const ArenaPlan& places() const { return places_; }

 private:
  std::vector<Lifetime> values_; ///< as large as they ever were
  ArenaPlan places_;
};

} // namespace octet::runtime

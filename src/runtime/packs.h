// SPDX-License-Identifier: Apache-2.0
// Packed weights, one copy in a process: sessions that pack the same numbers in the same way share
// what they made.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/step.h"

namespace octet::runtime {

/// What packed bytes depend on.
struct PackKey {
  std::string packer;          ///< names what is made of the weights, and of which type
  uint64_t content = 0;        ///< Tensor::content_hash() of the weights
  std::vector<int64_t> params; ///< instruction set and what else the packer is told

  auto operator<=>(const PackKey&) const = default;
};

/// What the process holds under the key, or what `make` makes now. It goes with its last holder.
/// `make` runs without a lock: two threads may both do, and then share one result.
std::shared_ptr<const void> shared_pack(const PackKey& key,
                                        const std::function<std::shared_ptr<const void>()>& make);

/// Constant input `input` packed by `make()`. Whoever names the same packer gives the same type.
template <class Make>
auto packed(const PrepareContext& c,
            size_t input,
            std::string packer,
            std::vector<int64_t> params,
            Make&& make) {
  using Packed = decltype(make());
  PackKey key{std::move(packer), c.constant(input)->content_hash(), std::move(params)};
  key.params.push_back(static_cast<int64_t>(c.isa.features));
  return std::static_pointer_cast<const Packed>(
      shared_pack(key, [&] { return std::make_shared<const Packed>(make()); }));
}

} // namespace octet::runtime

// SPDX-License-Identifier: Apache-2.0
// Packed weights, one copy in a process: sessions that pack the same numbers in the same way share
// what they made. With a weight store they come out of its file, or go into it.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/released.h"
#include "runtime/pack_forms.h"
#include "runtime/step.h"

namespace octet::runtime {

/// What packed bytes depend on.
struct PackKey {
  std::string packer;          ///< names what is made of the weights, and of which type
  uint64_t content = 0;        ///< Tensor::content_hash() of the weights
  std::vector<int64_t> params; ///< instruction set and what else the packer is told

  auto operator<=>(const PackKey&) const = default;
};

/// What the process holds under the key, or what `make` makes now, which may be null. It goes with
/// its last holder.
/// `make` runs without a lock: two threads may both do, and then share one result.
std::shared_ptr<const void> shared_pack(const PackKey& key,
                                        const std::function<std::shared_ptr<const void>()>& make);

/// What graphs are prepared with beside their own constants: either a file's packs are read, or
/// what is packed is told, so that a file can be made of it.
class PackStore {
 public:
  virtual ~PackStore() = default;

  /// Tensor::content_hash() of weights, also of those whose bytes are not here.
  virtual uint64_t content_of(const Tensor& weights) const = 0;
  /// Numbers of the file that packs are read from: what it gave is shared with nothing else.
  virtual std::vector<int64_t> origin() const { return {}; }
  /// The pack as a reader of its fields, or null.
  virtual std::unique_ptr<PackReader> find(const PackKey& /*key*/) const { return nullptr; }
  /// A pack is missing or does not fit; the weights are not here, so that what is prepared cannot
  /// run.
  virtual void lost(const PackKey& /*key*/) {}

  /// Whether the bytes of a constant lie in the file.
  virtual bool holds(const Tensor& /*constant*/) const { return false; }

  /// A constant input was packed. `write` may be called as long as the store lives.
  virtual void packed(size_t /*input*/,
                      const PackKey& /*key*/,
                      const std::function<void(PackWriter&)>& /*write*/) {}
  /// Inputs that were packed since the last call.
  virtual std::vector<size_t> take_packed() { return {}; }
  /// A constant of a graph that was prepared, and whether anybody still reads it.
  virtual void prepared(const Tensor& /*constant*/, bool /*is_read*/) {}
};

/// What the packs of a session take. One that several nodes share counts once.
struct PackedMemory {
  std::set<const void*> counted;
  int64_t bytes = 0; ///< in memory; sections of a store are where it is mapped

  template <class Packed>
  void add(const Packed& pack, bool is_stored) {
    if (!counted.insert(&pack).second) return;
    PackWriter sizes(PackWriter::Fields::kCounted);
    write_pack(sizes, pack);
    bytes += static_cast<int64_t>(sizes.field_bytes());
    for (const std::span<const std::byte> section : sizes.sections())
      if (!is_stored) bytes += static_cast<int64_t>(section.size());
  }
};

/// The pack of a store; null when it has none, or none that fits.
template <class Packed, class Form>
std::shared_ptr<const Packed>
read_stored(const PackStore& store, const PackKey& key, const Form& form, Isa isa) {
  const std::unique_ptr<PackReader> from = store.find(key);
  if (!from) return nullptr;
  auto pack = std::make_shared<Packed>();
  read_pack(*from, *pack, form, isa);
  return from->done() ? pack : nullptr;
}

/// Constant input `input` packed by `make()`. Whoever names the same packer gives the same type.
template <class Form, class Make>
auto packed(
    const PrepareContext& c, size_t input, std::string packer, const Form& form, Make&& make) {
  using Packed = decltype(make());
  const Tensor& weights = *c.constant(input);
  PackStore* const store = c.store.get();
  PackKey key{std::move(packer), store ? store->content_of(weights) : weights.content_hash(),
              numbers_of(form)};
  key.params.push_back(static_cast<int64_t>(c.isa.features));
  std::shared_ptr<const Packed> out;
  if (store) {
    PackKey of_file = key;
    const std::vector<int64_t> origin = store->origin();
    of_file.params.insert(of_file.params.end(), origin.begin(), origin.end());
    if (!origin.empty())
      out = std::static_pointer_cast<const Packed>(
          shared_pack(of_file, [&] { return read_stored<Packed>(*store, key, form, c.isa); }));
    if (!out && is_released(weights)) {
      store->lost(key);
      return std::make_shared<const Packed>();
    }
  }
  const bool is_stored = out != nullptr;
  if (!is_stored)
    out = std::static_pointer_cast<const Packed>(
        shared_pack(key, [&] { return std::make_shared<const Packed>(make()); }));
  if (c.memory) c.memory->add(*out, is_stored);
  if (store) store->packed(input, key, [out](PackWriter& to) { write_pack(to, *out); });
  return out;
}

/// The pack as a value, which holds on to it.
kernels::PackedFloat share_of(std::shared_ptr<const kernels::PackedFloat> pack);

} // namespace octet::runtime

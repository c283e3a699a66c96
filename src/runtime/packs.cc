// SPDX-License-Identifier: Apache-2.0
#include "runtime/packs.h"

#include <map>
#include <mutex>

namespace octet::runtime {
namespace {

class Table {
 public:
  std::shared_ptr<const void> find(const PackKey& key) {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(key);
    return at == entries_.end() ? nullptr : at->second.lock();
  }

  /// What is there already, else `made`.
  std::shared_ptr<const void> add(const PackKey& key, std::shared_ptr<const void> made) {
    const std::lock_guard lock(mutex_);
    std::erase_if(entries_, [](const auto& entry) { return entry.second.expired(); });
    const auto [at, is_new] = entries_.emplace(key, made);
    if (is_new) return made;
    std::shared_ptr<const void> found = at->second.lock();
    if (found) return found;
    at->second = made; // it went since the others that are gone were looked for
    return made;
  }

 private:
  std::mutex mutex_;
  std::map<PackKey, std::weak_ptr<const void>> entries_;
};

/// Bytes of somebody else.
class Held final : public Buffer {
 public:
  explicit Held(std::shared_ptr<const void> owner) : owner_(std::move(owner)) {}

 private:
  std::shared_ptr<const void> owner_;
};

Table& table() {
  static Table one;
  return one;
}

} // namespace

std::shared_ptr<const void> shared_pack(const PackKey& key,
                                        const std::function<std::shared_ptr<const void>()>& make) {
  if (auto found = table().find(key)) return found;
  std::shared_ptr<const void> made = make();
  return made ? table().add(key, std::move(made)) : nullptr;
}

kernels::PackedFloat share_of(std::shared_ptr<const kernels::PackedFloat> pack) {
  kernels::PackedFloat out;
  out.isa = pack->isa;
  out.n = pack->n;
  out.k = pack->k;
  out.width = pack->width;
  const std::span bytes(pack->data.as<std::byte>(), pack->data.bytes());
  out.data = kernels::AlignedBuffer(std::make_shared<Held>(std::move(pack)), bytes);
  return out;
}

} // namespace octet::runtime

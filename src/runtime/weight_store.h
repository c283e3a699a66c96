// SPDX-License-Identifier: Apache-2.0
// The weight store: a file (MODEL.octetpack) with what a session prepares of a model, so that
// opening it neither simplifies nor lowers nor packs. docs/pack.md says what is in it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/atomic_file.h"
#include "core/cpu.h"
#include "runtime/packs.h"

#include "octet/graph.h"

namespace octet::runtime {

/// A file that a model was read from, as it was then.
struct ModelFile {
  std::string name; ///< relative to the folder of the model
  uint64_t bytes = 0;
  int64_t changed_ns = 0; ///< when it was last written
  uint64_t hash = 0;      ///< XXH64
};

/// Takes down what a session packs, for write_store. One thread's.
class PackRecorder final : public PackStore {
 public:
  struct Pack {
    PackKey key;
    std::function<void(PackWriter&)> write;
  };

  uint64_t content_of(const Tensor& weights) const override;
  void
  packed(size_t input, const PackKey& key, const std::function<void(PackWriter&)>& write) override;
  std::vector<size_t> take_packed() override;
  void prepared(const Tensor& constant, bool is_read) override;

  const std::vector<Pack>& packs() const { return packs_; }
  /// Whether nothing but packs was made of the constant, wherever it stands.
  bool is_unread(const Tensor& constant) const;

 private:
  std::vector<Pack> packs_;
  std::vector<size_t> inputs_; ///< since take_packed
  std::map<const std::byte*, bool> read_;
  mutable std::map<const std::byte*, uint64_t> contents_;
};

/// What a store is made of.
struct StoreContent {
  const Graph* graph = nullptr; ///< lowered, with all of its weights
  const PackRecorder* recorder = nullptr;
  Isa isa = Isa::kScalar;
  std::vector<ModelFile> files; ///< the model's own first
};

/// Errors: a graph that ONNX does not hold, a file that cannot be written.
Status write_store(const StoreContent& content, const std::string& path, Overwrite overwrite);

/// A store that was read: header and table hold, weights are looked at where they lie.
class StoredModel {
 public:
  /// `bytes` are those of the file, aligned to a page. `origin` names it among all files. Errors:
  /// not a store, another version of octet, a damaged header or table.
  static Result<StoredModel> read(std::shared_ptr<const Buffer> bytes, std::vector<int64_t> origin);

  Isa isa() const;
  int64_t bytes() const; ///< of the file
  const std::vector<ModelFile>& files() const;
  /// The lowered graph. Weights that were packed are released.
  const Graph& graph() const;
  /// Of packs, for prepare_graph.
  std::shared_ptr<PackStore> packs() const;
  /// What prepare_graph did not find. Errors name the first.
  Status check_found() const;
  /// Checks the weights themselves, all of them. Errors name what is damaged.
  Status verify() const;

 private:
  class Packs;
  std::shared_ptr<Packs> packs_;
};

} // namespace octet::runtime

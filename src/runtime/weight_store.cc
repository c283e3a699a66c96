// SPDX-License-Identifier: Apache-2.0
// Reading of the weight store.
#include "runtime/weight_store.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "core/format.h"
#include "core/hash.h"
#include "core/released.h"
#include "graph/bodies.h"
#include "graph/verify.h"
#include "runtime/store_format.h"

#include "octet/onnx.h"
#include "octet/version.h"

namespace octet::runtime {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Of a constant that does not stand in the stored graph itself.
struct StoredConstant {
  Tensor tensor; ///< released, or a view of the file
  uint64_t content = 0;
  uint64_t hash = 0; ///< of its bytes in the file
  bool in_file = false;
};

/// Some bytes of a buffer, as a buffer of their own.
class PartOfBuffer final : public Buffer {
 public:
  PartOfBuffer(std::shared_ptr<const Buffer> whole, std::string_view part)
      : whole_(std::move(whole)) {
    data_ = reinterpret_cast<const std::byte*>(part.data());
    size_ = part.size();
  }

 private:
  std::shared_ptr<const Buffer> whole_;
};

struct StoredSections {
  std::string_view fields;
  std::vector<std::span<const std::byte>> sections;
  std::vector<uint64_t> hashes;
};

bool in_bounds(uint64_t offset, uint64_t bytes, uint64_t begin, uint64_t end) {
  return offset % kSectionAlignment == 0 && offset >= begin && offset <= end &&
         end - offset >= kSectionTail && bytes <= end - offset - kSectionTail;
}

} // namespace

class StoredModel::Packs final : public PackStore {
 public:
  Packs(std::shared_ptr<const Buffer> bytes, std::vector<int64_t> origin)
      : bytes_(std::move(bytes)), origin_(std::move(origin)) {}

  Status read() {
    OCTET_TRY(read_header());
    PackReader table(text_of(bytes_->bytes().subspan(header_.table_offset, header_.table_bytes)));
    OCTET_TRY(read_files(table));
    const std::string_view onnx = table.text();
    OCTET_TRY(read_constants(table));
    OCTET_TRY(read_packs(table));
    read_origins(table);
    if (!table.done()) return damaged("its table does not say what it should");
    graph = OCTET_TRY_WITH(parse_onnx(std::make_shared<PartOfBuffer>(bytes_, onnx)), "graph");
    OCTET_TRY_WITH(octet::verify(graph), "graph");
    size_t next_origin = 0;
    OCTET_TRY(restore(graph, next_origin));
    if (next_origin != origins_.size()) return damaged("it has other nodes than its table says");
    return ok_status();
  }

  uint64_t content_of(const Tensor& weights) const override {
    const auto found = contents_.find(weights.bytes().data());
    return found == contents_.end() ? weights.content_hash() : found->second;
  }
  std::vector<int64_t> origin() const override { return origin_; }
  bool holds(const Tensor& constant) const override {
    const std::span<const std::byte> all = bytes_->bytes();
    const std::byte* at = constant.bytes().data();
    return std::less_equal<>()(all.data(), at) && std::less<>()(at, all.data() + all.size());
  }
  int64_t bytes() const { return std::ssize(bytes_->bytes()); }
  std::unique_ptr<PackReader> find(const PackKey& key) const override {
    const auto found = packs_.find(key);
    if (found == packs_.end()) return nullptr;
    return std::make_unique<PackReader>(found->second.fields, found->second.sections, bytes_);
  }
  void lost(const PackKey& key) override {
    const std::lock_guard lock(mutex_);
    if (!lost_) lost_ = key.packer;
  }

  Status check_found() const {
    const std::lock_guard lock(mutex_);
    if (!lost_) return ok_status();
    return damaged(fmt::format("it has no {} weights that a node asks for", *lost_));
  }

  Status verify() const {
    for (const StoredConstant& c : constants_)
      if (c.in_file && hash_bytes(c.tensor.bytes()) != c.hash)
        return damaged("the bytes of a constant are not those that were written");
    for (const auto& [key, pack] : packs_)
      for (size_t i = 0; i < pack.sections.size(); ++i)
        if (hash_bytes(pack.sections[i]) != pack.hashes[i])
          return damaged(
              fmt::format("the bytes of {} weights are not those that were written", key.packer));
    return verify_zeros();
  }

  Isa isa = Isa::kScalar;
  std::vector<ModelFile> files;
  Graph graph;

 private:
  /// What lies between the table, constants and packs, and behind them, where kernels may read.
  Status verify_zeros() const {
    const std::span<const std::byte> all = bytes_->bytes();
    std::vector<std::span<const std::byte>> written = {all.last(0)};
    for (const StoredConstant& c : constants_)
      if (c.in_file) written.push_back(c.tensor.bytes());
    for (const auto& [key, pack] : packs_)
      written.insert(written.end(), pack.sections.begin(), pack.sections.end());
    std::sort(written.begin(), written.end(),
              [](const auto& a, const auto& b) { return std::less<>()(a.data(), b.data()); });
    const std::byte* at = all.data() + header_.table_offset + header_.table_bytes;
    for (const std::span<const std::byte> part : written) {
      if (part.data() > at &&
          std::any_of(at, part.data(), [](std::byte b) { return b != std::byte{0}; }))
        return damaged("there is something between its weights, where zeros were written");
      at = std::max(at, part.data() + part.size());
    }
    return ok_status();
  }

  static Error damaged(std::string_view what) {
    return error("the file is damaged: {}; pack the model again", what);
  }

  Status read_header() {
    const std::span<const std::byte> all = bytes_->bytes();
    if (all.size() < kHeaderBytes || text_of(all.first(kMagic.size())) != kMagic)
      return error("this is no weight store of octet; octet pack makes one");
    PackReader fields(text_of(all.first(kHeaderBytes - sizeof(uint64_t))));
    header_.read(fields);
    if (header_.byte_order != kByteOrder)
      return error("it was written on a machine of other byte order; pack the model here");
    if (header_.format != kStoreFormat || header_.packers != kPackersVersion ||
        header_.version != version())
      return error("it was written by octet {} (format {}.{}), this is {} (format {}.{}); pack the "
                   "model again",
                   printable(header_.version), header_.format, header_.packers, version(),
                   kStoreFormat, kPackersVersion);
    PackReader last(text_of(all.subspan(kHeaderBytes - sizeof(uint64_t), sizeof(uint64_t))));
    if (last.number<uint64_t>() != hash_bytes(all.first(kHeaderBytes - sizeof(uint64_t))))
      return damaged("its header does not have its hash");
    if (header_.file_bytes != all.size())
      return damaged(fmt::format("it has {} bytes of {}", all.size(), header_.file_bytes));
    if (header_.table_offset != kHeaderBytes ||
        header_.table_bytes > all.size() - header_.table_offset)
      return damaged("its table lies outside");
    if (hash_bytes(all.subspan(header_.table_offset, header_.table_bytes)) != header_.table_hash)
      return damaged("its table does not have its hash");
    auto made_for = parse_isa(header_.isa);
    if (!made_for.ok()) return Error(made_for.error()).with("what it was packed for");
    isa = *made_for;
    return ok_status();
  }

  /// Of text in a file that may be anything.
  static std::string printable(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return text;
  }

  Status read_files(PackReader& table) {
    const size_t count = table.size(1);
    for (size_t i = 0; i < count && table.ok(); ++i) {
      ModelFile& file = files.emplace_back();
      file.name = table.text();
      file.bytes = table.number<uint64_t>();
      file.changed_ns = table.number<int64_t>();
      file.hash = table.number<uint64_t>();
    }
    return files.empty() ? Status(damaged("it names no model")) : ok_status();
  }

  /// Where weights may lie.
  bool in_payload(uint64_t offset, uint64_t size_bytes) const {
    return in_bounds(offset, size_bytes, header_.table_offset + header_.table_bytes,
                     header_.file_bytes);
  }

  Status read_constants(PackReader& table) {
    struct Row {
      DType type;
      Shape shape;
      int64_t bytes;
      bool in_file;
      uint64_t offset;
    };
    std::vector<Row> rows;
    size_t released_bytes = 0;
    const size_t count = table.size(1);
    for (size_t i = 0; i < count && table.ok(); ++i) {
      const auto type = table.number<int32_t>();
      Row row{is_valid(type) ? static_cast<DType>(type) : DType::kUndefined, table.list<int64_t>(),
              0, false, 0};
      StoredConstant& constant = constants_.emplace_back();
      constant.content = table.number<uint64_t>();
      row.in_file = table.number<bool>();
      row.offset = table.number<uint64_t>();
      constant.hash = table.number<uint64_t>();
      constant.in_file = row.in_file;
      const auto elements = element_count(row.shape);
      if (!table.ok() || !elements.ok() || *elements == 0 || *elements > kMostElements ||
          !may_be_stored(row.type))
        return damaged("a constant is none");
      row.bytes = bytes_for(row.type, *elements);
      if (!row.in_file) released_bytes += aligned_size(static_cast<size_t>(row.bytes));
      if (released_bytes / kMostReleased > bytes_->bytes().size())
        return damaged("its constants are too large");
      rows.push_back(std::move(row));
    }
    std::shared_ptr<const Buffer> space = released_space(released_bytes);
    if (!space) return error("no address space for {} bytes of weights", released_bytes);
    size_t next = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      Row& row = rows[i];
      const auto size_bytes = static_cast<size_t>(row.bytes);
      if (row.in_file && !in_payload(row.offset, size_bytes))
        return damaged("a constant lies outside");
      constants_[i].tensor =
          OCTET_TRY(Tensor::view(row.type, std::move(row.shape), row.in_file ? bytes_ : space,
                                 row.in_file ? static_cast<size_t>(row.offset) : next));
      if (!row.in_file) next += aligned_size(size_bytes);
      contents_[constants_[i].tensor.bytes().data()] = constants_[i].content;
    }
    return ok_status();
  }

  Status read_packs(PackReader& table) {
    const size_t count = table.size(1);
    for (size_t i = 0; i < count && table.ok(); ++i) {
      PackKey key;
      key.packer = table.text();
      key.content = table.number<uint64_t>();
      key.params = table.list<int64_t>();
      StoredSections pack;
      pack.fields = table.text();
      const size_t sections = table.size(3 * sizeof(uint64_t));
      for (size_t s = 0; s < sections; ++s) {
        const auto offset = table.number<uint64_t>(), size_bytes = table.number<uint64_t>();
        pack.hashes.push_back(table.number<uint64_t>());
        if (!in_payload(offset, size_bytes)) return damaged("packed weights lie outside");
        pack.sections.push_back(bytes_->bytes().subspan(offset, size_bytes));
      }
      packs_.insert_or_assign(std::move(key), std::move(pack));
    }
    return ok_status();
  }

  void read_origins(PackReader& table) {
    const size_t count = table.size(sizeof(uint64_t));
    for (size_t i = 0; i < count && table.ok(); ++i) {
      std::vector<std::string>& names = origins_.emplace_back();
      const size_t of_node = table.size(sizeof(uint64_t));
      for (size_t k = 0; k < of_node && table.ok(); ++k)
        names.emplace_back(table.text());
    }
  }

  /// Puts constants and the origins of nodes back in their places, in bodies too.
  Status restore(Graph& to, size_t& next_origin) {
    for (const ValueId v : to.constants()) {
      const std::optional<int64_t> index = placeholder_index(to.value(v).constant);
      if (!index) continue;
      if (*index < 0 || *index >= std::ssize(constants_))
        return damaged("a constant is not in its table");
      to.set_constant(v, constants_[static_cast<size_t>(*index)].tensor);
    }
    for (const NodeId id : to.nodes()) {
      Node& node = to.mutable_node(id);
      if (next_origin >= origins_.size()) return damaged("it has more nodes than its table says");
      node.origin = origins_[next_origin++];
      for (const MutableBody& body : bodies_of(node)) {
        auto changed = std::make_shared<Graph>(*body.graph);
        OCTET_TRY(restore(*changed, next_origin));
        body.graph = std::move(changed);
      }
    }
    return ok_status();
  }

  std::shared_ptr<const Buffer> bytes_;
  std::vector<int64_t> origin_;
  StoreHeader header_;
  std::vector<StoredConstant> constants_;
  std::map<const std::byte*, uint64_t> contents_;
  std::map<PackKey, StoredSections> packs_;
  std::vector<std::vector<std::string>> origins_; ///< of nodes, as restore meets them
  mutable std::mutex mutex_;
  std::optional<std::string> lost_;
};

Result<StoredModel> StoredModel::read(std::shared_ptr<const Buffer> bytes,
                                      std::vector<int64_t> origin) {
  StoredModel out;
  out.packs_ = std::make_shared<Packs>(std::move(bytes), std::move(origin));
  OCTET_TRY(out.packs_->read());
  return out;
}

Isa StoredModel::isa() const {
  return packs_->isa;
}
int64_t StoredModel::bytes() const {
  return packs_->bytes();
}
const std::vector<ModelFile>& StoredModel::files() const {
  return packs_->files;
}
const Graph& StoredModel::graph() const {
  return packs_->graph;
}
std::shared_ptr<PackStore> StoredModel::packs() const {
  return packs_;
}
Status StoredModel::check_found() const {
  return packs_->check_found();
}
Status StoredModel::verify() const {
  return packs_->verify();
}

} // namespace octet::runtime

// SPDX-License-Identifier: Apache-2.0
// Recording and writing of the weight store.
#include <map>

#include "core/format.h"
#include "core/hash.h"
#include "graph/bodies.h"
#include "runtime/store_format.h"
#include "runtime/weight_store.h"

#include "octet/onnx.h"
#include "octet/version.h"

namespace octet::runtime {

uint64_t PackRecorder::content_of(const Tensor& weights) const {
  const auto [at, is_new] = contents_.emplace(weights.bytes().data(), 0);
  if (is_new) at->second = weights.content_hash();
  return at->second;
}

void PackRecorder::packed(size_t input,
                          const PackKey& key,
                          const std::function<void(PackWriter&)>& write) {
  packs_.push_back({key, write});
  inputs_.push_back(input);
}

std::vector<size_t> PackRecorder::take_packed() {
  return std::exchange(inputs_, {});
}

void PackRecorder::prepared(const Tensor& constant, bool is_read) {
  bool& read = read_[constant.bytes().data()];
  read = read || is_read;
}

bool PackRecorder::is_unread(const Tensor& constant) const {
  const auto found = read_.find(constant.bytes().data());
  return found != read_.end() && !found->second;
}

namespace {

/// Bytes of the payload, one section behind the other.
class Payload {
 public:
  /// `begin`: where it lies in the file.
  explicit Payload(size_t begin) : end_(begin) {}

  /// Gives the offset in the file.
  uint64_t add(std::span<const std::byte> bytes) {
    const size_t offset = end_;
    sections_.push_back(bytes);
    end_ += aligned_size(bytes.size()) + kSectionTail;
    return offset;
  }
  size_t end() const { return end_; }

  Status write(AtomicFile& file) const {
    static constexpr std::byte kZeros[kSectionAlignment + kSectionTail] = {};
    for (const std::span<const std::byte> bytes : sections_) {
      OCTET_TRY(file.write(bytes));
      const size_t after = aligned_size(bytes.size()) + kSectionTail - bytes.size();
      OCTET_TRY(file.write(std::span(kZeros).first(after)));
    }
    return ok_status();
  }

 private:
  std::vector<std::span<const std::byte>> sections_;
  size_t end_;
};

/// A graph without its large constants, which `constants` lists.
class Stripped {
 public:
  Status strip(Graph& graph) {
    for (const ValueId v : graph.constants()) {
      const Tensor constant = graph.value(v).constant;
      if (placeholder_index(constant))
        return error("constant \"{}\": its numbers have a meaning of their own in a weight store",
                     graph.value(v).name);
      if (constant.bytes().size() < kLeastStored || !may_be_stored(constant.type())) continue;
      const auto [at, is_new] = places_.emplace(
          std::pair{constant.bytes().data(), tensor_type(constant.type(), constant.shape()).text()},
          std::ssize(constants));
      if (is_new) constants.push_back(constant);
      graph.set_constant(v, placeholder(at->second));
    }
    for (const NodeId id : OCTET_TRY(graph.topological())) {
      Node& node = graph.mutable_node(id);
      origins.push_back(node.origin);
      for (const MutableBody& body : bodies_of(node)) {
        auto changed = std::make_shared<Graph>(*body.graph);
        OCTET_TRY(strip(*changed));
        body.graph = std::move(changed);
      }
    }
    return ok_status();
  }

  std::vector<Tensor> constants;
  std::vector<std::vector<std::string>> origins;

 private:
  std::map<std::pair<const std::byte*, std::string>, int64_t> places_; ///< by bytes and type
};

void write_files(PackWriter& table, const std::vector<ModelFile>& files) {
  table.size(files.size());
  for (const ModelFile& file : files) {
    table.text(file.name);
    table.number(file.bytes);
    table.number(file.changed_ns);
    table.number(file.hash);
  }
}

void write_origins(PackWriter& table, const std::vector<std::vector<std::string>>& origins) {
  table.size(origins.size());
  for (const std::vector<std::string>& names : origins) {
    table.size(names.size());
    for (const std::string& one : names)
      table.text(one);
  }
}

/// Packs as fields and sections, each once.
using WrittenPacks = std::map<PackKey, PackWriter>;

WrittenPacks written_packs(const PackRecorder& recorder) {
  WrittenPacks out;
  for (const PackRecorder::Pack& pack : recorder.packs()) {
    const auto [at, is_new] = out.try_emplace(pack.key);
    if (is_new) pack.write(at->second);
  }
  return out;
}

/// The table, whose length does not depend on where the payload begins.
std::string make_table(const StoreContent& content,
                       const Stripped& stripped,
                       const std::string& onnx,
                       const WrittenPacks& packs,
                       Payload& payload) {
  PackWriter table;
  write_files(table, content.files);
  table.text(onnx);
  table.size(stripped.constants.size());
  for (const Tensor& constant : stripped.constants) {
    const bool in_file = !content.recorder->is_unread(constant);
    table.number(static_cast<int32_t>(constant.type()));
    table.list(constant.shape());
    table.number(content.recorder->content_of(constant));
    table.number(in_file);
    table.number(in_file ? payload.add(constant.bytes()) : uint64_t{0});
    table.number(in_file ? hash_bytes(constant.bytes()) : uint64_t{0});
  }
  table.size(packs.size());
  for (const auto& [key, pack] : packs) {
    table.text(key.packer);
    table.number(key.content);
    table.list(key.params);
    table.text(pack.fields());
    table.size(pack.sections().size());
    for (const std::span<const std::byte> section : pack.sections()) {
      table.number(payload.add(section));
      table.number(uint64_t{section.size()});
      table.number(hash_bytes(section));
    }
  }
  write_origins(table, stripped.origins);
  return table.fields();
}

} // namespace

std::string header_bytes(const StoreHeader& header) {
  PackWriter fields, hash;
  header.write(fields);
  std::string out = fields.fields();
  out.resize(kHeaderBytes - sizeof(uint64_t), '\0');
  hash.number(hash_bytes(out));
  return out + hash.fields();
}

Status write_store(const StoreContent& content, const std::string& path, Overwrite overwrite) {
  Graph graph = *content.graph;
  Stripped stripped;
  OCTET_TRY(stripped.strip(graph));
  const std::string onnx = OCTET_TRY(serialize_onnx(graph));
  const WrittenPacks packs = written_packs(*content.recorder);
  Payload nowhere(0);
  const size_t table_bytes = make_table(content, stripped, onnx, packs, nowhere).size();
  const size_t payload_at = aligned_size(kHeaderBytes + table_bytes);
  Payload payload(payload_at);
  const std::string table = make_table(content, stripped, onnx, packs, payload);

  StoreHeader header;
  header.packers = kPackersVersion;
  header.file_bytes = payload.end();
  header.table_bytes = table.size();
  header.table_hash = hash_bytes(table);
  header.version = version();
  header.isa = isa_text(content.isa);
  AtomicFile file = OCTET_TRY(AtomicFile::create(path, overwrite));
  OCTET_TRY(file.write(header_bytes(header)));
  OCTET_TRY(file.write(table));
  OCTET_TRY(file.write(std::string(payload_at - kHeaderBytes - table.size(), '\0')));
  OCTET_TRY(payload.write(file));
  return file.commit();
}

} // namespace octet::runtime

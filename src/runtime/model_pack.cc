// SPDX-License-Identifier: Apache-2.0
#include "runtime/model_pack.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/format.h"
#include "core/hash.h"
#include "core/pages.h"
#include "onnx/read_model.h"
#include "runtime/prepare.h"
#include <sys/stat.h>

#include "octet/pack.h"

namespace octet {
namespace runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".octetpack";
constexpr int64_t kNsPerSecond = 1'000'000'000;
/// A file that was written less long ago may be written again and keep its time: those are hashed.
constexpr int64_t kCoarseNs = kNsPerSecond / 10;

Result<struct stat> status_of(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0)
    return error("cannot read {}: {}", path, std::strerror(errno));
  return found;
}

int64_t changed_ns(const struct stat& file) {
  return int64_t{file.st_mtim.tv_sec} * kNsPerSecond + file.st_mtim.tv_nsec;
}

Result<uint64_t> file_hash(const std::string& path) {
  const auto buffer = OCTET_TRY(Buffer::map(path));
  PieceHash hash;
  for (std::span<const std::byte> left = buffer->bytes(); !left.empty();) {
    const auto piece = left.first(std::min(left.size(), kPieceBytes));
    hash.add(piece);
    buffer->page_out(piece);
    left = left.subspan(piece.size());
  }
  return hash.value();
}

/// The model's own file, then its external data.
Result<std::vector<ModelFile>> files_of(const std::string& model,
                                        const std::vector<std::string>& external) {
  const fs::path folder = fs::path(model).parent_path();
  std::vector<std::string> names = {fs::path(model).filename().string()};
  names.insert(names.end(), external.begin(), external.end());
  std::vector<ModelFile> out;
  for (const std::string& name : names) {
    const std::string path = (folder / name).string();
    const struct stat found = OCTET_TRY(status_of(path));
    timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t age_ns = int64_t{now.tv_sec} * kNsPerSecond + now.tv_nsec - changed_ns(found);
    out.push_back({name, static_cast<uint64_t>(found.st_size),
                   age_ns < kCoarseNs ? int64_t{-1} : changed_ns(found),
                   OCTET_TRY(file_hash(path))});
  }
  return out;
}

/// Whether the files beside `model` are those that the store was made of. One that was written
/// again since then is hashed.
Status check_files(const std::vector<ModelFile>& files, const std::string& model) {
  const fs::path folder = fs::path(model).parent_path();
  for (size_t i = 0; i < files.size(); ++i) {
    const ModelFile& file = files[i];
    const std::string path = i == 0 ? model : (folder / file.name).string();
    const struct stat found = OCTET_TRY(status_of(path));
    const bool same_bytes = static_cast<uint64_t>(found.st_size) == file.bytes;
    if (same_bytes && changed_ns(found) == file.changed_ns) continue;
    if (!same_bytes || OCTET_TRY(file_hash(path)) != file.hash)
      return error("{} is not what it was made of", path);
  }
  return ok_status();
}

Status check_options(const SessionOptions& options) {
  if (!options.lower || !options.integer)
    return Error("it holds the model lowered to integers, which the session does not want");
  if (options.packed) return Error("it holds the model of padded batches, not of packed sequences");
  if (options.keep_weights) return Error("it has no weights to keep beside packed ones");
  return ok_status();
}

Result<StoredModel> open_store(const std::string& path) {
  const struct stat file = OCTET_TRY(status_of(path));
  return StoredModel::read(OCTET_TRY(Buffer::map(path)),
                           {static_cast<int64_t>(file.st_dev), static_cast<int64_t>(file.st_ino),
                            int64_t{file.st_size}, changed_ns(file)});
}

/// A store that fits machine, options and model.
Result<StoredModel> usable_store(const FoundModel& found, Isa isa, const SessionOptions& options) {
  OCTET_TRY(check_options(options));
  StoredModel stored = OCTET_TRY(open_store(found.pack));
  if (stored.isa() != isa)
    return error("it was packed for {}, this session is of {}", isa_text(stored.isa()),
                 isa_text(isa));
  if (!found.model.empty()) OCTET_TRY(check_files(stored.files(), found.model));
  return stored;
}

/// The model that a store names, where it lies beside it.
std::string model_of(const std::string& pack) {
  const auto stored = open_store(pack);
  const fs::path folder = fs::path(pack).parent_path();
  std::error_code none;
  if (stored.ok()) {
    const fs::path name = fs::path(stored->files().front().name).filename();
    if (const fs::path model = folder / name; fs::is_regular_file(model, none))
      return model.string();
  }
  fs::path model = pack;
  model.replace_extension(".onnx");
  return fs::is_regular_file(model, none) ? model.string() : "";
}

/// What a store gives, all of whose bytes hold.
Result<std::shared_ptr<const PreparedGraph>> prepared_whole(const std::string& path) {
  const StoredModel stored = OCTET_TRY(open_store(path));
  OCTET_TRY(stored.verify());
  auto prepared = prepare_graph(stored.graph(), {.isa = stored.isa(), .store = stored.packs()});
  OCTET_TRY(stored.check_found());
  return prepared;
}

/// A store gives the plan that it was made of: the same kernels for values of the same types.
Status check_written(const PreparedGraph& made, const std::string& path) {
  const auto read = OCTET_TRY(prepared_whole(path));
  const auto other = [&](const std::string& what) {
    return error(ErrorCode::kInternal, "what was written differs: {}", what);
  };
  if (read->planned.size() != made.planned.size() || read->order.size() != made.order.size())
    return other("the number of nodes");
  for (size_t i = 0; i < made.planned.size(); ++i)
    if (read->planned[i].kernel != made.planned[i].kernel)
      return other(fmt::format("{} runs as {} in place of {}", made.planned[i].node,
                               read->planned[i].kernel, made.planned[i].kernel));
  for (size_t i = 0; i < made.order.size(); ++i) {
    const Node &a = read->graph.node(read->order[i]), &b = made.graph.node(made.order[i]);
    for (size_t k = 0; k < b.outputs.size(); ++k)
      if (b.outputs[k].valid() &&
          read->graph.value(a.output(k)).type.text() != made.graph.value(b.outputs[k]).type.text())
        return other(fmt::format("the type of \"{}\"", made.graph.value(b.outputs[k]).name));
  }
  return ok_status();
}

} // namespace

std::string repack_hint(const FoundModel& found, std::string_view why) {
  return fmt::format("{} is not used: {}; octet pack {} --force makes it anew", found.pack, why,
                     found.model.empty() ? "MODEL.onnx" : found.model);
}

Result<FoundModel> find_model(const std::string& path, Isa isa, const SessionOptions& options) {
  FoundModel found;
  std::error_code none;
  if (fs::path(path).extension() == kExtension) {
    OCTET_TRY(status_of(path));
    found.pack = path;
    found.model = model_of(path);
  } else {
    found.model = path;
    if (std::string beside = pack_path(path); fs::is_regular_file(beside, none))
      found.pack = std::move(beside);
  }
  if (found.pack.empty()) return found;
  auto stored = usable_store(found, isa, options);
  if (stored.ok()) {
    found.stored = *std::move(stored);
    return found;
  }
  if (found.model.empty()) return Error(stored.error()).with(found.pack);
  found.why_not = repack_hint(found, stored.error().text());
  return found;
}

} // namespace runtime

std::string pack_path(const std::string& model) {
  return std::filesystem::path(model).replace_extension(runtime::kExtension).string();
}

Result<PackReport>
pack_model(const std::string& model, const std::string& path, const PackOptions& options) {
  const Isa isa = OCTET_TRY(isa_or_selected(options.isa));
  const std::string target = path.empty() ? pack_path(model) : path;
  const onnx::LoadedModel loaded = OCTET_TRY(onnx::load_model(model));
  const std::vector<runtime::ModelFile> files =
      OCTET_TRY(runtime::files_of(model, loaded.external));
  const Graph graph = OCTET_TRY_WITH(runtime::ready_graph(loaded.graph, {}), model);
  const auto recorder = std::make_shared<runtime::PackRecorder>();
  const auto prepared =
      OCTET_TRY_WITH(runtime::prepare_graph(graph, {.isa = isa, .store = recorder}), model);
  OCTET_TRY(runtime::write_store({&graph, recorder.get(), isa, files}, target,
                                 options.overwrite ? Overwrite::kYes : Overwrite::kNo)
                .with(target));
  if (Status read_back = runtime::check_written(*prepared, target); !read_back.ok()) {
    std::error_code none;
    std::filesystem::remove(target, none);
    return std::move(read_back).error().with(target);
  }
  return PackReport{target, isa_text(isa),
                    static_cast<int64_t>(OCTET_TRY(runtime::status_of(target)).st_size),
                    std::ssize(recorder->packs())};
}

Status verify_pack(const std::string& path) {
  OCTET_TRY(runtime::prepared_whole(path).with(path));
  return ok_status();
}

} // namespace octet

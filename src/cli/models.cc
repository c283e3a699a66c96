// SPDX-License-Identifier: Apache-2.0
#include "cli/models.h"

#include <filesystem>

#include "core/atomic_file.h"
#include "core/format.h"
#include "core/string_util.h"
#include "graph/sizes.h"
#include <sys/resource.h>

#include "octet/model_folder.h"
#include "octet/onnx.h"
#include "octet/session.h"
#include "octet/train.h"

namespace octet::cli {
namespace fs = std::filesystem;

Result<Graph> open_model(const std::string& path) {
  return load_onnx(OCTET_TRY(resolve_model(path)));
}

bool holds_codes(const Graph& graph) {
  for (const NodeId id : graph.nodes()) {
    const std::string& op = graph.node(id).op_type;
    for (const std::string_view part : {"QuantizeLinear", "DequantizeLinear", "QLinear", "Integer"})
      if (op.find(part) != std::string::npos) return true;
  }
  return false;
}

Status check_float(const Graph& graph, const std::string& path, std::string_view why) {
  if (!holds_codes(graph)) return ok_status();
  return error("{}: is quantized; {}", path, why);
}

int64_t model_bytes(const std::string& model) {
  std::error_code ignored;
  const Result<std::string> resolved = resolve_model(model);
  const std::string path = resolved.ok() ? *resolved : model;
  auto bytes = static_cast<int64_t>(fs::file_size(path, ignored));
  const fs::path external = path + ".data";
  if (fs::exists(external, ignored))
    bytes += static_cast<int64_t>(fs::file_size(external, ignored));
  return ignored ? 0 : bytes;
}

ExecutorFactory measuring_executor(const Common& common, bool integer) {
  return
      [threads = common.threads, integer](const Graph& graph) -> Result<std::unique_ptr<Executor>> {
        if (constant_bytes(graph) > kLargeConstantBytes) return make_reference_executor(graph);
        return make_native_executor(
            graph, {.threads = threads, .isa = {}, .lower = true, .integer = integer});
      };
}

const std::vector<std::string>& executor_names() {
  static const std::vector<std::string> names = {"native", "reference", "torch"};
  return names;
}

Result<std::unique_ptr<Executor>>
make_executor(const Graph& graph, const std::string& executor, const Common& common) {
  if (executor == "native")
    return make_native_executor(graph, {.threads = common.threads, .isa = {}, .lower = true});
  if (executor == "reference") return make_reference_executor(graph);
  if (executor == "torch") {
    TrainApi* api = OCTET_TRY(train_api());
    return api->make_executor(graph, {.device = Device::kCpu, .threads = common.threads});
  }
  return error("unknown executor \"{}\"{}", executor, suggestion(executor, executor_names()));
}

Status check_output(const std::string& path, const Common& common) {
  std::error_code ignored;
  if (path.empty()) return error("no output file was named; use -o FILE");
  if (fs::exists(path, ignored) && !common.force)
    return error("{}: exists; use --force to overwrite it", path);
  fs::path whole(path);
  if (!whole.has_filename()) whole = whole.parent_path(); // FOLDER/
  const fs::path folder = whole.parent_path();
  if (!folder.empty() && !fs::is_directory(folder, ignored))
    return error(ErrorCode::kNotFound, "{}: the folder {} does not exist", path, folder.string());
  return ok_status();
}

Status check_model_output(const std::string& path, bool as_folder, const Common& common) {
  OCTET_TRY(check_output(path, common));
  std::error_code ignored;
  if (as_folder) {
    [[maybe_unused]] const auto made = OCTET_TRY(ModelFolderWriter::create(path, common.force));
    return ok_status();
  }
  if (fs::is_directory(path, ignored)) return error("{}: is a folder; name a file", path);
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored))
    return ok_status(); // a pipe
  [[maybe_unused]] const auto made = OCTET_TRY(AtomicFile::create(path, Overwrite::kYes));
  return ok_status();
}

bool writes_folder(const std::string& path, const std::string& source) {
  std::error_code ignored;
  if (path.ends_with(".onnx")) return false;
  return path.ends_with("/") || fs::is_directory(path, ignored) ||
         fs::is_directory(source, ignored);
}

Status write_model(const Graph& graph,
                   const std::string& path,
                   const Common& common,
                   const std::string& source,
                   const std::string& record) {
  if (!writes_folder(path, source)) {
    SaveOptions options;
    options.overwrite = common.force;
    return save_onnx(graph, path, options);
  }
  ModelFolderWriter folder = OCTET_TRY(ModelFolderWriter::create(path, common.force));
  OCTET_TRY(folder.add_model(graph));
  if (!record.empty()) OCTET_TRY(folder.add_file("training.json", record + "\n"));
  const Result<std::string> companions = companion_folder(source);
  if (companions.ok()) OCTET_TRY(folder.add_companions(*companions));
  return folder.commit();
}

int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

} // namespace octet::cli

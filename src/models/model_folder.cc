// SPDX-License-Identifier: Apache-2.0
#include "octet/model_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "core/atomic_file.h"
#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include "graph/metadata.h"
#include "models/bert_config.h"
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <stdio.h> // renameat2
#include <unistd.h>

#include "octet/bert.h"
#include "octet/onnx.h"

namespace octet {
namespace {
namespace fs = std::filesystem;

constexpr const char* kModel = "model.onnx";
constexpr const char* kWeights = "model.safetensors"; // of Hugging Face's folders
constexpr const char* kLabels = "labels.txt";
constexpr const char* kConfig = "config.json";
constexpr const char* kClassMetadata = "octet.classes";
constexpr size_t kMaxLabelBytes = size_t{16} << 20;

/// Makes what was written under a folder's names last.
Status sync_names(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return error("cannot open {}: {}", path, std::strerror(errno));
  const bool failed = fsync(fd) != 0;
  const int code = errno;
  close(fd);
  return failed ? Status(error("cannot write {}: {}", path, std::strerror(code))) : ok_status();
}

/// Without the slashes at its end.
std::string plain_path(const std::string& path) {
  fs::path p(path);
  while (!p.has_filename() && p.has_parent_path() && p != p.parent_path())
    p = p.parent_path();
  return p.string();
}

Status check_target(const std::string& target, bool overwrite) {
  std::error_code ignored;
  if (!fs::exists(target, ignored)) return ok_status();
  if (!overwrite) return error("{}: exists; use --force to overwrite it", target);
  if (!fs::is_directory(target, ignored))
    return error("{}: is a file, a model folder would take its place; name a folder", target);
  const fs::path folder(target);
  if (!fs::is_empty(folder, ignored) && !fs::exists(folder / kModel, ignored) &&
      !fs::exists(folder / kWeights, ignored))
    return error("{}: is no model folder, it holds no {}; name another one", target, kModel);
  return ok_status();
}

/// How a model comes to be in a folder of that name, where it may be one.
std::string way_to_model(const std::string& path) {
  if (path.empty() || fs::path(path).has_extension()) return {};
  return fmt::format(
      "; octet import hf owner/name -o {} downloads a BERT, octet train makes a model", path);
}

} // namespace

const std::vector<std::string>& companion_names() {
  static const std::vector<std::string> names = {kLabels,
                                                 kConfig,
                                                 "vocab.txt",
                                                 "tokenizer.json",
                                                 "tokenizer_config.json",
                                                 "special_tokens_map.json",
                                                 "preprocessor_config.json",
                                                 "training.json"};
  return names;
}

Result<std::string> resolve_model(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    if (!fs::exists(path, ignored) && !path.ends_with(".onnx") && !way_to_model(path).empty())
      return error(ErrorCode::kNotFound, "{}: there is no such file or folder{}", path,
                   way_to_model(path));
    return path;
  }
  const fs::path model = fs::path(path) / kModel;
  if (!fs::exists(model, ignored)) {
    if (fs::exists(fs::path(path) / kWeights, ignored))
      return error(ErrorCode::kNotFound,
                   "{}: holds weights of Hugging Face's, no {}; octet import hf {} makes a model "
                   "folder of it",
                   path, kModel, path);
    return error(ErrorCode::kNotFound, "{}: holds no {}; name a model folder or an ONNX file", path,
                 kModel);
  }
  return model.string();
}

Result<std::string> companion_folder(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return path;
  if (!path.empty() && !fs::exists(path, ignored))
    return error(ErrorCode::kNotFound, "{}: there is no such file or folder{}", path,
                 way_to_model(path));
  const fs::path file(path);
  if (file.filename() == kModel)
    return file.has_parent_path() ? file.parent_path().string() : std::string(".");
  return error(ErrorCode::kNotFound,
               "{}: a lone ONNX file has no tokenizer beside it; name its model folder", path);
}

Result<std::vector<std::string>> read_labels(const std::string& folder) {
  const std::string path = (fs::path(folder) / kLabels).string();
  std::error_code ignored;
  std::vector<std::string> out;
  if (!fs::exists(path, ignored)) return out;
  const std::string text = OCTET_TRY(read_file(path, kMaxLabelBytes));
  for (const std::string_view line : split(text, '\n'))
    out.emplace_back(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
  if (!out.empty() && out.back().empty()) out.pop_back(); // after the last line's end
  return out;
}

Result<std::vector<std::string>> class_names(const Graph& graph) {
  if (const std::string* text = find_metadata(graph.info.metadata, kClassMetadata)) {
    const nlohmann::json json = OCTET_TRY_WITH(parse_json(*text), std::string(kClassMetadata));
    std::vector<std::string> out;
    for (const nlohmann::json& name : json)
      out.push_back(name.is_string() ? name.get<std::string>() : std::string());
    return out;
  }
  const Result<BertOptions> bert = bert_options(graph);
  return bert.ok() && bert->head == BertHead::kClassification ? bert->labels
                                                              : std::vector<std::string>();
}

Result<std::vector<std::string>> class_names(const Graph& graph, const std::string& path) {
  if (const Result<std::string> folder = companion_folder(path); folder.ok()) {
    std::vector<std::string> beside = OCTET_TRY(read_labels(*folder));
    if (!beside.empty()) return beside;
  }
  return class_names(graph).with(path);
}

void set_class_names(Graph& graph, const std::vector<std::string>& names) {
  erase_metadata(graph.info.metadata, kClassMetadata);
  if (names.empty()) return;
  graph.info.metadata.emplace_back(kClassMetadata, json_text(nlohmann::json(names), -1));
  // What becomes the folder's config.json, which cannot give two classes one name.
  Result<BertOptions> bert = bert_options(graph);
  if (!bert.ok() || bert->head != BertHead::kClassification ||
      bert->labels.size() != names.size() ||
      std::set<std::string>(names.begin(), names.end()).size() != names.size())
    return;
  bert->labels = names;
  set_metadata(graph.info.metadata, kBertMetadata, bert_config_json(*bert));
}

Result<ModelFolderWriter> ModelFolderWriter::create(const std::string& path, bool overwrite) {
  ModelFolderWriter out;
  out.target_ = plain_path(path);
  if (fs::path(out.target_).filename().empty()) return error("\"{}\" names no folder", path);
  OCTET_TRY(check_target(out.target_, overwrite));
  const fs::path target(out.target_);
  std::string name =
      (target.parent_path() / fmt::format(".{}.octet-XXXXXX", target.filename().string())).string();
  if (mkdtemp(name.data()) == nullptr)
    return error("{}: cannot be made: {}", out.target_, std::strerror(errno));
  out.temporary_ = name;
  std::error_code ignored;
  // mkdtemp's folders are private; this one becomes the user's.
  fs::permissions(name,
                  fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                      fs::perms::others_read | fs::perms::others_exec,
                  ignored);
  return out;
}

ModelFolderWriter::ModelFolderWriter(ModelFolderWriter&& other) noexcept
    : target_(std::move(other.target_)), temporary_(std::move(other.temporary_)) {
  other.temporary_.clear();
}

ModelFolderWriter::~ModelFolderWriter() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

Status ModelFolderWriter::add_model(const Graph& graph) {
  OCTET_TRY(save_onnx(graph, (fs::path(temporary_) / kModel).string(), {}));
  const Result<BertOptions> bert = bert_options(graph);
  if (bert.ok()) OCTET_TRY(add_file(kConfig, bert_config_json(*bert) + "\n"));
  const std::vector<std::string> names = OCTET_TRY(class_names(graph));
  return names.empty() ? ok_status() : add_labels(names);
}

Status ModelFolderWriter::add_labels(const std::vector<std::string>& labels) {
  for (const std::string& label : labels)
    if (label.find('\n') != std::string::npos)
      return error("the label \"{}\" has a line break; give it another name", label);
  return add_file(kLabels, join(labels, "\n") + "\n");
}

Status ModelFolderWriter::add_file(const std::string& name, std::string_view content) {
  if (name.empty() || fs::path(name).filename() != name || name == "." || name == "..")
    return error("\"{}\" is no plain file name", name);
  return write_file((fs::path(temporary_) / name).string(), content, Overwrite::kYes);
}

Status ModelFolderWriter::add_companions(const std::string& folder,
                                         const std::vector<std::string>& but_for) {
  for (const std::string& name : companion_names()) {
    if (std::find(but_for.begin(), but_for.end(), name) != but_for.end()) continue;
    const fs::path from = fs::path(folder) / name, to = fs::path(temporary_) / name;
    std::error_code failed;
    if (!fs::exists(from, failed) || fs::exists(to, failed)) continue;
    fs::copy_file(from, to, failed);
    if (failed) return error("cannot copy {}: {}", from.string(), failed.message());
  }
  return ok_status();
}

Status ModelFolderWriter::commit() {
  OCTET_TRY(sync_names(temporary_));
  std::error_code failed;
  const std::string parent = fs::path(target_).parent_path().string();
  if (fs::exists(target_, failed)) {
    // Both names exist at every moment; what was there then has the temporary name and goes.
    if (renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0)
      return error("cannot replace {}: {}; remove it and try again", target_, std::strerror(errno));
    fs::remove_all(temporary_, failed);
  } else if (std::rename(temporary_.c_str(), target_.c_str()) != 0) {
    return error("cannot make {}: {}", target_, std::strerror(errno));
  }
  temporary_.clear();
  return sync_names(parent.empty() ? "." : parent);
}

} // namespace octet

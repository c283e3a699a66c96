// SPDX-License-Identifier: Apache-2.0
#include "cli/outputs.h"

#include <algorithm>
#include <filesystem>

#include "cli/history.h"
#include "core/atomic_file.h"
#include "core/format.h"
#include "core/string_util.h"

#include "octet/model_folder.h"
#include "octet/onnx.h"

namespace octet::cli {
namespace {

namespace fs = std::filesystem;

/// What of a path is read: of a model folder its files, of an ONNX file also its external data.
std::vector<fs::path> with_parts(const std::string& path) {
  std::vector<fs::path> out = {path};
  std::error_code ignored;
  if (const Result<std::string> model = resolve_model(path); model.ok()) {
    out.emplace_back(*model);
    out.emplace_back(*model + ".data");
    if (fs::is_directory(path, ignored))
      for (const std::string& name : companion_names())
        out.push_back(fs::path(path) / name);
  }
  std::erase_if(out, [&](const fs::path& part) { return !fs::exists(part, ignored); });
  return out;
}

/// The files that a text names, itself and the parts of `kind:FILE,FILE?test=FILE` and `NAME=FILE`,
/// as far as they are there.
std::vector<fs::path> named_files(const std::string& text) {
  std::vector<fs::path> out = with_parts(text);
  constexpr std::string_view kEnds = ":?&,=";
  for (size_t at = text.find_first_of(kEnds); at != std::string::npos;
       at = text.find_first_of(kEnds, at + 1)) {
    const std::string rest = text.substr(at + 1);
    for (const std::string& name :
         {rest, rest.substr(0, rest.find_first_of(kEnds)), rest.substr(0, rest.find('?'))}) {
      const std::vector<fs::path> parts = with_parts(name);
      out.insert(out.end(), parts.begin(), parts.end());
    }
  }
  return out;
}

/// One file or folder under any names. Pipes and devices are none: they hold nothing to be lost.
bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code failed;
  if (!fs::exists(a, failed) || !fs::exists(b, failed))
    return fs::weakly_canonical(fs::absolute(a, failed), failed) ==
           fs::weakly_canonical(fs::absolute(b, failed), failed);
  if (!fs::is_regular_file(a, failed) && !fs::is_directory(a, failed)) return false;
  return fs::equivalent(a, b, failed);
}

bool lies_in(const fs::path& path, const fs::path& folder) {
  std::error_code failed;
  if (!fs::exists(path, failed)) return false;
  const fs::path inner = fs::canonical(path, failed), outer = fs::canonical(folder, failed);
  const auto [end, at] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  return !outer.empty() && end == outer.end();
}

enum class Extent { kFile, kFolder }; ///< what is replaced

Status check_apart(const std::string& path, Extent extent, UsedFiles used, const Common& common) {
  used.push_back(common.config);
  for (const std::string& text : used) {
    std::vector<fs::path> files = named_files(text);
    if (!text.empty()) files.emplace_back(text); // another output is not there yet
    for (const fs::path& file : files) {
      const bool same = is_same(file, path);
      if (!same && (extent == Extent::kFile || !lies_in(file, path))) continue;
      return error("{}: {} {}, which the command uses too, and writing would destroy it (also "
                   "with --force); name another output",
                   path, same ? "is the same file as" : "is replaced as a whole and holds",
                   file.string());
    }
  }
  return ok_status();
}

Status check_place(const std::string& path, const Common& common) {
  std::error_code ignored;
  if (fs::exists(path, ignored) && !common.force)
    return error("{}: exists; use --force to overwrite it", path);
  fs::path whole(path);
  if (!whole.has_filename()) whole = whole.parent_path(); // FOLDER/
  const fs::path folder = whole.parent_path();
  if (!folder.empty() && !fs::is_directory(folder, ignored))
    return error(ErrorCode::kNotFound, "{}: the folder {} does not exist", path, folder.string());
  return ok_status();
}

Status check(const std::string& path, Extent extent, const UsedFiles& used, const Common& common) {
  if (path.empty()) return error("no output file was named; use -o FILE");
  OCTET_TRY(check_apart(path, extent, used, common));
  return check_place(path, common);
}

} // namespace

Status check_unused(const std::string& path, UsedFiles used, const Common& common) {
  return check_apart(path, Extent::kFile, std::move(used), common);
}

Status check_output(const std::string& path, const UsedFiles& used, const Common& common) {
  return check(path, Extent::kFile, used, common);
}

Status check_model_output(const std::string& path,
                          bool as_folder,
                          const UsedFiles& used,
                          const Common& common) {
  OCTET_TRY(check(path, as_folder ? Extent::kFolder : Extent::kFile, used, common));
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

Result<std::vector<std::string>> edited_labels(const Graph& graph, const std::string& source) {
  const Result<std::string> folder = companion_folder(source);
  if (!folder.ok()) return std::vector<std::string>(); // a lone file
  std::vector<std::string> beside = OCTET_TRY(read_labels(*folder));
  const std::vector<std::string> inside = OCTET_TRY(class_names(graph));
  if (inside.empty() || beside == inside) beside.clear();
  return beside;
}

Status write_model(const Graph& graph,
                   const std::string& path,
                   const Common& common,
                   const std::string& source,
                   const std::string& record,
                   const nlohmann::json& facts,
                   const std::vector<std::string>& left_out) {
  Graph written = graph;
  nlohmann::json step = history_facts(record);
  step.update(facts);
  append_history(written, common, source, step);
  if (std::find(left_out.begin(), left_out.end(), "labels.txt") == left_out.end()) {
    const std::vector<std::string> labels = OCTET_TRY(edited_labels(graph, source));
    if (!labels.empty() && labels.size() == OCTET_TRY(class_names(graph)).size())
      set_class_names(written, labels);
  }
  if (!writes_folder(path, source)) {
    SaveOptions options;
    options.overwrite = common.force;
    return save_onnx(written, path, options);
  }
  ModelFolderWriter folder = OCTET_TRY(ModelFolderWriter::create(path, common.force));
  OCTET_TRY(folder.add_model(written));
  if (!record.empty()) OCTET_TRY(folder.add_file("training.json", record + "\n"));
  const Result<std::string> companions = companion_folder(source);
  if (companions.ok()) OCTET_TRY(folder.add_companions(*companions, left_out));
  return folder.commit();
}

} // namespace octet::cli

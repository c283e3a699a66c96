// SPDX-License-Identifier: Apache-2.0
#include "data/kinds.h"

#include <filesystem>
#include <utility>

#include "core/format.h"
#include "core/string_util.h"
#include "data/image_list.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

/// By the ending, a last .gz left out; empty: none of these.
std::string_view kind_of_file(std::string_view path) {
  if (path.ends_with(".gz")) path.remove_suffix(3);
  constexpr std::pair<std::string_view, std::string_view> kEndings[] = {
      {".tsv", "tsv"},    {".csv", "csv"},  {".jsonl", "jsonl"}, {".ndjson", "jsonl"},
      {".json", "jsonl"}, {".txt", "text"}, {".npz", "npz"},     {".npy", "npy"}};
  for (const auto& [ending, kind] : kEndings)
    if (path.ends_with(ending)) return kind;
  return {};
}

/// Images, or folders with images in them.
bool holds_images(const std::string& path) {
  constexpr int kLooked = 1000;
  std::error_code failed;
  int looked = 0;
  for (fs::recursive_directory_iterator at(path, failed), end; !failed && at != end;
       at.increment(failed)) {
    if (is_image_name(at->path().native())) return true;
    if (++looked == kLooked) return false;
  }
  return false;
}

/// What a folder is to be written as, by the files in it; empty: it cannot be told.
std::string form_of_folder(const std::string& path) {
  std::error_code ignored;
  const auto holds = [&](const std::string& name) {
    return fs::exists(fs::path(path) / name, ignored) ||
           fs::exists(fs::path(path) / (name + ".gz"), ignored);
  };
  if (holds("train.tsv") && holds("dev.tsv")) return "sst2:" + path;
  if (holds("train/neg") || (holds("train.tsv") && holds("unsup.tsv"))) return "imdb:" + path;
  if (holds("train-images-idx3-ubyte") || holds("train-images.idx3-ubyte"))
    return fmt::format("fashion-mnist:{0} or mnist:{0}", path);
  if (holds_images(path)) return "images:" + path;
  return {};
}

} // namespace

Error unknown_kind(std::string_view spec, std::vector<std::string> forms) {
  const std::string all = join(forms, ", ");
  const std::string path(spec.substr(0, spec.find('?')));
  std::error_code ignored;
  const std::string_view kind = kind_of_file(path);
  if (fs::is_regular_file(path, ignored) && !kind.empty())
    return error("{} is a file without its kind; write {}:{}", path, kind, spec);
  if (const std::string form = form_of_folder(path); !form.empty())
    return error("{} is a folder without its kind; write {}", path, form);
  if (fs::exists(path, ignored))
    return error("{} is a path without its kind; write one of {}", path, all);
  if (!kind.empty() || path.find('/') < path.find(':'))
    return error(ErrorCode::kNotFound, "there is no {}; data sets are {}", path, all);
  const std::string_view name = spec.substr(0, spec.find_first_of(":?"));
  std::vector<std::string> names;
  names.reserve(forms.size());
  for (const std::string& form : forms)
    names.push_back(form.substr(0, form.find_first_of(":? ")));
  return error(ErrorCode::kNotFound, "no kind of data set \"{}\"{}; known are {}", name,
               suggestion(name, names), all);
}

Error unknown_text(std::string_view spec) {
  const std::string_view kind = spec.substr(0, spec.find_first_of(":?"));
  for (const std::string& form : array_forms())
    if (form.substr(0, form.find(':')) == kind)
      return error("\"{}\" names no texts; use {}", spec, join(text_forms(), ", "));
  return unknown_kind(spec, text_forms());
}

} // namespace octet

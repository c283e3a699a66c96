// SPDX-License-Identifier: Apache-2.0
#include "data/imdb.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "core/atomic_file.h"
#include "core/format.h"
#include "core/string_util.h"
#include "data/records.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxReviewBytes = size_t{1} << 24;
constexpr const char* kSplitFolders[] = {"train", "test", "unsup"};
constexpr const char* kNouns[] = {"training review", "test review", "unlabelled review"};

const std::vector<std::string>& class_names() {
  static const std::vector<std::string> names = {"negative", "positive"};
  return names;
}

/// A review's file is named ID_RATING.txt.
int64_t id_of(const fs::path& path) {
  const std::string name = path.filename().string();
  int64_t id = 0;
  std::from_chars(name.data(), name.data() + name.size(), id);
  return id;
}

class FolderSource final : public TextSource {
 public:
  FolderSource(std::string description, bool labelled) : description_(std::move(description)) {
    if (labelled) classes_ = class_names();
  }

  Status add(const fs::path& folder, int64_t label) {
    std::error_code code;
    std::vector<fs::path> found;
    for (fs::directory_iterator entry(folder, code), end; !code && entry != end;
         entry.increment(code)) {
      if (entry->path().extension() == ".txt") found.push_back(entry->path());
    }
    if (code) return error("cannot list {}: {}", folder.string(), code.message());
    if (found.empty()) return error("no .txt file in {}; name the folder aclImdb", folder.string());
    std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
      return std::pair(id_of(a), a) < std::pair(id_of(b), b);
    });
    for (const fs::path& path : found) {
      if (fs::file_size(path, code) == 0 && !code)
        return error("{} is empty; remove the file or fill it", path.string());
      files_.push_back(path.string());
      labels_.push_back(static_cast<int8_t>(label));
    }
    return ok_status();
  }
  void describe() { description_ = "IMDB, " + counted(std::ssize(files_), description_); }

  std::string description() const override { return description_; }
  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  bool pairs() const override { return false; }
  const std::vector<std::string>& classes() const override { return classes_; }
  Result<TextExample> example(int64_t index) const override {
    TextExample out;
    out.label = OCTET_TRY(label(index));
    out.text = OCTET_TRY(read_file(files_[static_cast<size_t>(index)], kMaxReviewBytes));
    return out;
  }
  Result<int64_t> label(int64_t index) const override {
    if (index < 0 || index >= size())
      return error("example {} is asked for, {} has {}; ask for 0 to {}", index, description_,
                   size(), size() - 1);
    return classes_.empty() ? -1 : int64_t{labels_[static_cast<size_t>(index)]};
  }

 private:
  std::string description_;
  std::vector<std::string> classes_;
  std::vector<std::string> files_;
  std::vector<int8_t> labels_;
};

Result<std::shared_ptr<const TextSource>>
open_folder(const fs::path& folder, ImdbPart part, bool labelled) {
  auto source = std::make_shared<FolderSource>(kNouns[static_cast<size_t>(part)], labelled);
  if (part == ImdbPart::kUnsupervised) {
    OCTET_TRY(source->add(folder / "train" / "unsup", -1));
  } else {
    OCTET_TRY(source->add(folder / kSplitFolders[static_cast<size_t>(part)] / "neg", 0));
    OCTET_TRY(source->add(folder / kSplitFolders[static_cast<size_t>(part)] / "pos", 1));
  }
  source->describe();
  return std::shared_ptr<const TextSource>(std::move(source));
}

} // namespace

Result<std::shared_ptr<const TextSource>>
open_imdb(const std::string& folder, ImdbPart part, Labels labels) {
  const fs::path root(folder);
  const std::string name = kSplitFolders[static_cast<size_t>(part)];
  const bool labelled = labels == Labels::kYes && part != ImdbPart::kUnsupervised;
  std::error_code code;
  if (fs::is_directory(root / "train" / "neg", code)) return open_folder(root, part, labelled);
  fs::path path = root / (name + ".tsv.gz");
  if (!fs::exists(path, code)) path = root / (name + ".tsv");
  if (!fs::exists(path, code)) {
    return error(ErrorCode::kNotFound,
                 "no {}.tsv.gz, no {}.tsv and no train/neg in {}; name the folder aclImdb or one "
                 "of {}.tsv.gz files; octet data fetch imdb downloads it and says where",
                 name, name, folder, "{train,test,unsup}");
  }
  std::vector<RecordFile> files;
  files.push_back({.file = OCTET_TRY(TextFile::open(path.string())), .reader = nullptr});
  RecordColumns columns;
  columns.text = "4";
  columns.label = "3";
  files[0].reader =
      OCTET_TRY(make_table_reader(files[0].file, TableFormat::kTsv, Header::kNo, columns));
  LabelRules rules;
  rules.classes = class_names();
  rules.ignore = !labelled;
  return make_record_source(
      std::move(files), rules, {},
      {.name = "IMDB", .noun = kNouns[static_cast<size_t>(part)], .note = {}});
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "data/image_list.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "core/format.h"
#include "core/string_util.h"
#include "data/records.h"

#include "octet/images.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kImageEndings = ".png, .jpg or .jpeg";

/// Where the examples of one split come from.
struct ImagePlace {
  std::string folder, table; ///< table: a CSV, its files beneath the folder
  HeldOut held_out;
  std::string train_folder, train_table; ///< where the classes come from
  bool shared = false;
};

struct FolderContent {
  std::vector<std::string> folders, images; ///< sorted names
};

Result<FolderContent> content_of(const std::string& folder) {
  std::error_code failed;
  FolderContent out;
  if (!fs::is_directory(folder, failed))
    return error(ErrorCode::kNotFound, "{} is no folder; write images:DIR", folder);
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(".")) continue;
    std::error_code unknown;
    if (at->is_directory(unknown))
      out.folders.push_back(name);
    else if (is_image_name(name))
      out.images.push_back(name);
  }
  if (failed) return error("{} cannot be read: {}", folder, failed.message());
  std::sort(out.folders.begin(), out.folders.end());
  std::sort(out.images.begin(), out.images.end());
  return out;
}

std::string in_folder(const std::string& folder, const std::string& name) {
  return (fs::path(folder) / name).string();
}

/// Images of one folder: by class, or unlabelled where it has no folders in it.
Result<ImageList> list_folder(const std::string& folder) {
  const FolderContent content = OCTET_TRY(content_of(folder));
  ImageList out;
  if (content.folders.empty()) {
    for (const std::string& name : content.images)
      out.files.push_back(in_folder(folder, name));
    if (out.files.empty())
      return error(ErrorCode::kNotFound,
                   "{} holds no images; they end in {}, each in the folder of its class", folder,
                   kImageEndings);
    return out;
  }
  if (!content.images.empty())
    return error("{} holds folders and images ({}); put each image into the folder of its class",
                 folder, content.images.front());
  for (const std::string& name : content.folders) {
    const std::string path = in_folder(folder, name);
    const FolderContent inner = OCTET_TRY(content_of(path));
    if (inner.images.empty())
      return error(
          ErrorCode::kNotFound,
          "{} holds no images, which end in {}; each folder of {} is a class, so remove it", path,
          kImageEndings, folder);
    for (const std::string& image : inner.images) {
      out.files.push_back(in_folder(path, image));
      out.labels.push_back(static_cast<int32_t>(out.classes.size()));
    }
    out.classes.push_back(name);
  }
  return out;
}

/// Files and labels that a CSV names, in its columns `file` and `label`.
Result<ImageList>
list_table(const std::string& folder, const std::string& table, const LabelRules& rules) {
  RecordColumns columns;
  columns.text = "file";
  RecordFile file{.file = OCTET_TRY(TextFile::open(table)), .reader = nullptr};
  file.reader = OCTET_TRY(make_table_reader(file.file, TableFormat::kCsv, Header::kYes, columns));
  std::vector<RecordFile> files;
  files.push_back(std::move(file));
  const auto source =
      OCTET_TRY(make_record_source(std::move(files), rules, {}, {.name = table, .noun = "image"}));
  ImageList out;
  out.classes = source->classes();
  for (int64_t i = 0; i < source->size(); ++i) {
    const TextExample example = OCTET_TRY(source->example(i));
    out.files.push_back(in_folder(folder, example.text));
    if (!out.classes.empty()) out.labels.push_back(static_cast<int32_t>(example.label));
  }
  return out;
}

/// The folder within `folder` that holds examples for testing.
std::optional<std::string> test_folder_in(const std::string& folder) {
  std::error_code ignored;
  if (!fs::is_directory(in_folder(folder, "train"), ignored)) return std::nullopt;
  for (const char* name : {"test", "val", "valid", "validation"})
    if (fs::is_directory(in_folder(folder, name), ignored)) return in_folder(folder, name);
  return std::nullopt;
}

Result<ImagePlace> place_of(const TextSpec& spec, Split split) {
  ImagePlace out;
  out.folder = join(spec.places, ","); // a comma is part of a folder's name
  const std::string* table = spec.find("labels");
  const std::string* test = spec.find("test");
  if (table != nullptr) out.table = *table;
  if (test == nullptr && table == nullptr) {
    if (const auto inner = test_folder_in(out.folder)) {
      out.train_folder = in_folder(out.folder, "train");
      out.folder = split == Split::kTrain ? out.train_folder : *inner;
      return out;
    }
  }
  out.train_folder = out.folder;
  out.train_table = out.table;
  out.shared = test == nullptr;
  if (test == nullptr) return out;
  if (const auto share = OCTET_TRY(share_to_hold_out(*test))) {
    out.held_out = {.share = *share, .part = split};
    return out;
  }
  if (split == Split::kTrain) return out;
  if (table != nullptr)
    out.table = *test;
  else
    out.folder = *test;
  return out;
}

Result<ImageList>
list_place(const std::string& folder, const std::string& table, const LabelRules& rules) {
  return table.empty() ? list_folder(folder) : list_table(folder, table, rules);
}

/// Numbers the classes as those that were trained.
Status
renumber(ImageList& list, const std::vector<std::string>& classes, const std::string& place) {
  std::vector<int32_t> number;
  for (const std::string& name : list.classes) {
    const auto at = std::find(classes.begin(), classes.end(), name);
    if (at == classes.end())
      return error("{} has the class \"{}\", which the training images do not have{}", place, name,
                   suggestion(name, classes));
    number.push_back(static_cast<int32_t>(at - classes.begin()));
  }
  for (int32_t& label : list.labels)
    label = number[static_cast<size_t>(label)];
  if (!list.classes.empty()) list.classes = classes;
  return ok_status();
}

void hold_out(ImageList& list, const HeldOut& held_out) {
  ImageList kept;
  for (size_t i = 0; i < list.files.size(); ++i) {
    if (!belongs_to(held_out, static_cast<int64_t>(i))) continue;
    kept.files.push_back(std::move(list.files[i]));
    if (!list.labels.empty()) kept.labels.push_back(list.labels[i]);
  }
  list.files = std::move(kept.files);
  list.labels = std::move(kept.labels);
}

} // namespace

bool is_image_name(std::string_view name) {
  const std::string low = lowered(name);
  return low.ends_with(".png") || low.ends_with(".jpg") || low.ends_with(".jpeg");
}

Result<ImageList> list_images(const TextSpec& spec, Split split) {
  const ImagePlace place = OCTET_TRY(place_of(spec, split));
  const std::string& named = place.table.empty() ? place.folder : place.table;
  LabelRules rules;
  const bool other = place.folder != place.train_folder || place.table != place.train_table;
  std::vector<std::string> classes;
  if (other) {
    classes = OCTET_TRY(list_place(place.train_folder, place.train_table, {})).classes;
    rules.classes = classes;
    rules.found = true;
  }
  ImageList out = OCTET_TRY(list_place(place.folder, place.table, rules));
  if (other && place.table.empty()) OCTET_TRY(renumber(out, classes, named));
  if (place.held_out.share > 0) hold_out(out, place.held_out);
  if (out.files.empty()) return error("{} has too few images to hold some out", named);
  const char* part = split == Split::kTrain ? "training image" : "test image";
  out.description =
      fmt::format("{}, {}{}", named, counted(std::ssize(out.files), place.shared ? "image" : part),
                  place.shared ? " (the same for training and testing: no test= is given)" : "");
  return out;
}

Result<std::vector<std::string>> image_files_in(const std::string& folder) {
  ImageList list = OCTET_TRY(list_folder(folder));
  return std::move(list.files);
}

} // namespace octet

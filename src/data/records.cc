// SPDX-License-Identifier: Apache-2.0
// The index over files of records: one pass checks them and notes where each begins.
#include "data/records.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "core/check.h"
#include "core/format.h"
#include "core/philox.h"
#include "core/string_util.h"

namespace octet {
namespace {

constexpr size_t kMaxLabels = 10000;
constexpr int32_t kUnlabelled = -1;

struct Label {
  std::string text;
  std::string place; ///< of its first record
};

struct Index {
  std::vector<uint64_t> offsets;
  std::vector<int32_t> labels;  ///< positions in `found`, later class numbers
  std::vector<size_t> first_of; ///< the first record of each file, and the end
  std::vector<Label> found;
  std::unordered_map<std::string, int32_t> known;
};

std::optional<int64_t> as_integer(const std::string& text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, code] = std::from_chars(text.data(), end, value);
  if (text.empty() || code != std::errc() || at != end) return std::nullopt;
  return value;
}

Status note_label(Index& index, const RecordFile& file, size_t at, const std::string& text) {
  const auto [entry, added] = index.known.emplace(text, static_cast<int32_t>(index.found.size()));
  index.labels.push_back(entry->second);
  if (!added) return ok_status();
  if (text.empty())
    return error("{}the label is empty; give every row one, or -1 to all", file.file.place(at));
  if (index.found.size() == kMaxLabels) {
    return error("{}label \"{}\" is the {}th different one; is the label column the right one?",
                 file.file.place(at), text, kMaxLabels + 1);
  }
  index.found.push_back({text, file.file.place(at)});
  return ok_status();
}

Status index_file(
    Index& index, const RecordFile& file, bool labelled, const HeldOut& held_out, int64_t& row) {
  const std::string_view text = file.file.text();
  RawRecord record;
  for (size_t at = file.reader->begin(); at < text.size();) {
    size_t after_line = at;
    if (next_line(text, after_line).empty()) {
      at = after_line;
      continue;
    }
    const auto fail = [&](std::string_view what) {
      return error("{}{}", file.file.place(at), what);
    };
    Result<size_t> next = file.reader->read(at, record);
    if (!next.ok()) return fail(next.error().text());
    if (is_blank(record.text)) return fail("the text is empty; remove the row or fill it");
    if (file.reader->pairs() && is_blank(record.text2))
      return fail("the second text is empty; remove the row or fill it");
    if (belongs_to(held_out, row++)) {
      index.offsets.push_back(at);
      if (labelled) OCTET_TRY(note_label(index, file, at, record.label));
    }
    at = *next;
  }
  return ok_status();
}

/// Integers are class numbers as they are; names are numbered in sorted order.
Result<std::vector<std::string>> find_classes(const Index& index) {
  std::vector<std::string> names;
  int64_t largest = kUnlabelled;
  bool numbers = true;
  for (const Label& label : index.found) {
    const std::optional<int64_t> value = as_integer(label.text);
    numbers = numbers && value.has_value();
    largest = std::max(largest, value.value_or(0));
    names.push_back(label.text);
  }
  if (!numbers) {
    std::sort(names.begin(), names.end());
    return names;
  }
  if (largest >= static_cast<int64_t>(kMaxLabels)) {
    return error("label {} is out of range; integer labels are class numbers from 0 to {}", largest,
                 kMaxLabels - 1);
  }
  names.clear();
  for (int64_t i = 0; i <= largest; ++i)
    names.push_back(std::to_string(i));
  return names;
}

Result<int32_t> class_of(const Label& label, const LabelRules& rules) {
  const auto match = std::find(rules.classes.begin(), rules.classes.end(), label.text);
  if (match != rules.classes.end()) return static_cast<int32_t>(match - rules.classes.begin());
  const std::optional<int64_t> value = as_integer(label.text);
  const auto count = static_cast<int64_t>(rules.classes.size());
  if (value && *value >= kUnlabelled && *value < count) return static_cast<int32_t>(*value);
  if (value) {
    return error("{}label {} is out of range; there are {} classes, from 0 to {}", label.place,
                 *value, count, count - 1);
  }
  return error("{}label \"{}\" is none of the {} classes{}{}", label.place, label.text, count,
               rules.found ? " of the training file" : "", suggestion(label.text, rules.classes));
}

/// Turns what was found into class numbers. Returns the classes, none when nothing is labelled.
Result<std::vector<std::string>>
number_labels(Index& index, LabelRules rules, const std::string& file) {
  if (index.labels.empty()) return std::vector<std::string>();
  if (rules.classes.empty()) rules.classes = OCTET_TRY_WITH(find_classes(index), file);
  std::vector<int32_t> classes;
  const Label* unlabelled = nullptr;
  for (const Label& label : index.found) {
    classes.push_back(OCTET_TRY(class_of(label, rules)));
    if (classes.back() == kUnlabelled) unlabelled = &label;
  }
  if (unlabelled != nullptr && index.found.size() > 1) {
    return error("{}the row is unlabelled (-1), others have labels; remove the ones or the others",
                 unlabelled->place);
  }
  if (unlabelled != nullptr) {
    index.labels.clear();
    return std::vector<std::string>();
  }
  for (int32_t& label : index.labels)
    label = classes[static_cast<size_t>(label)];
  return rules.classes;
}

class RecordSource final : public TextSource {
 public:
  RecordSource(std::vector<RecordFile> files,
               Index index,
               std::vector<std::string> classes,
               std::string description)
      : files_(std::move(files)), index_(std::move(index)), classes_(std::move(classes)),
        description_(std::move(description)) {}

  std::string description() const override { return description_; }
  int64_t size() const override { return static_cast<int64_t>(index_.offsets.size()); }
  bool pairs() const override { return files_[0].reader->pairs(); }
  const std::vector<std::string>& classes() const override { return classes_; }

  Result<TextExample> example(int64_t index) const override {
    const int64_t label = OCTET_TRY(this->label(index));
    const auto i = static_cast<size_t>(index);
    const auto above = std::upper_bound(index_.first_of.begin(), index_.first_of.end(), i);
    const RecordFile& file = files_[static_cast<size_t>(above - index_.first_of.begin()) - 1];
    RawRecord record;
    OCTET_TRY_WITH(file.reader->read(index_.offsets[i], record), file.file.name());
    return TextExample{std::move(record.text), std::move(record.text2), label};
  }
  Result<int64_t> label(int64_t index) const override {
    if (index < 0 || index >= size())
      return error("example {} is asked for, {} has {}; ask for 0 to {}", index, description_,
                   size(), size() - 1);
    return classes_.empty() ? int64_t{kUnlabelled} : index_.labels[static_cast<size_t>(index)];
  }

 private:
  std::vector<RecordFile> files_;
  Index index_;
  std::vector<std::string> classes_;
  std::string description_;
};

} // namespace

bool belongs_to(const HeldOut& held_out, int64_t index) {
  if (held_out.share <= 0) return true;
  constexpr uint64_t kSeed = 0x6865'6c64'206f'7574; // any constant: the cut never changes
  Philox random(kSeed, static_cast<uint64_t>(index));
  return (random.uniform() < held_out.share) == (held_out.part == Split::kTest);
}

Result<std::optional<double>> share_to_hold_out(const std::string& test) {
  if (test.empty() || test.back() != '%') return std::optional<double>();
  int percent = 0;
  const char* end = test.data() + test.size() - 1;
  const auto [at, code] = std::from_chars(test.data(), end, percent);
  if (code != std::errc() || at != end || percent < 1 || percent > 99)
    return error("test={} is no share to hold out; write test=1% to test=99%, or name a place",
                 test);
  return std::optional(percent / 100.0);
}

Result<std::shared_ptr<const TextSource>> make_record_source(std::vector<RecordFile> files,
                                                             const LabelRules& rules,
                                                             const HeldOut& held_out,
                                                             const Wording& wording) {
  OCTET_CHECK(!files.empty());
  Index index;
  int64_t row = 0;
  for (const RecordFile& file : files) {
    index.first_of.push_back(index.offsets.size());
    if (file.reader->labelled() != files[0].reader->labelled()) {
      return error("{} and {}: one has labels, the other none; name files of one kind",
                   files[0].file.name(), file.file.name());
    }
    OCTET_TRY(index_file(index, file, file.reader->labelled() && !rules.ignore, held_out, row));
  }
  if (index.offsets.empty()) {
    return error("{} {}; name a file with rows", files[0].file.name(),
                 row == 0 ? "has no rows" : "has too few rows to hold some out");
  }
  std::vector<std::string> classes = OCTET_TRY(number_labels(index, rules, files[0].file.name()));
  const bool named = !classes.empty() && !as_integer(classes[0]) && rules.classes.empty();
  std::string description = fmt::format(
      "{}, {}{}", wording.name, counted(std::ssize(index.offsets), wording.noun), wording.note);
  if (named) description += "; classes in sorted order: " + join_some(classes);
  index.known.clear();
  index.found.clear();
  return std::shared_ptr<const TextSource>(std::make_shared<RecordSource>(
      std::move(files), std::move(index), std::move(classes), std::move(description)));
}

} // namespace octet

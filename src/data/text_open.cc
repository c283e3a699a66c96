// SPDX-License-Identifier: Apache-2.0
// The kinds of text data sets, by name.
#include <charconv>
#include <filesystem>

#include "core/format.h"
#include "core/string_util.h"
#include "data/corpus.h"
#include "data/imdb.h"
#include "data/kinds.h"
#include "data/records.h"
#include "data/reviews.h"
#include "data/text_spec.h"

#include "octet/text_source.h"

namespace octet {
namespace {

enum class Purpose { kLabelled, kCorpus };
using Source = std::shared_ptr<const TextSource>;

struct Request {
  TextSpec spec;
  Split split = Split::kTrain;
  Purpose purpose = Purpose::kLabelled;
};

/// The files of the asked-for split and what of them belongs to it.
struct Files {
  std::vector<std::string> paths;
  HeldOut held_out;
  bool test_file = false; ///< the paths are those of test=FILE
  bool shared = false;    ///< training and testing use the same examples
};

/// `test=FILE`, `test=10%` or nothing: the same examples in both splits.
Result<Files> choose_files(const Request& request) {
  Files out;
  out.paths = request.spec.places;
  const std::string* test = request.spec.find("test");
  if (test == nullptr) {
    out.shared = true;
    return out;
  }
  if (const auto share = OCTET_TRY(share_to_hold_out(*test))) {
    out.held_out = {.share = *share, .part = request.split};
    return out;
  }
  if (request.split == Split::kTrain) return out;
  out.test_file = true;
  out.paths.clear();
  for (const std::string_view path : split(*test, ','))
    out.paths.emplace_back(path);
  return out;
}

Wording wording_of(const Request& request, const Files& files, std::string_view noun) {
  const char* part = request.split == Split::kTrain ? "training " : "test ";
  Wording out;
  out.name = join(files.paths, ",");
  out.noun = fmt::format("{}{}", files.shared ? "" : part, noun);
  if (files.shared) out.note = " (the same for training and testing: no test= is given)";
  return out;
}

Result<bool> yes_or_no(const TextSpec& spec, std::string_view key, bool otherwise) {
  const std::string* value = spec.find(key);
  if (value == nullptr) return otherwise;
  if (*value == "yes") return true;
  if (*value == "no") return false;
  return error("{}={} of {} is neither yes nor no", key, *value, spec.kind);
}

/// A test file may have names of its own.
const std::string* column(const TextSpec& spec, const std::string& key, bool test_file) {
  const std::string* own = test_file ? spec.find("test_" + key) : nullptr;
  return own != nullptr ? own : spec.find(key);
}

Result<std::vector<RecordFile>>
open_files(const TextSpec& spec, const std::vector<std::string>& paths, bool test_file) {
  RecordColumns columns;
  if (const std::string* name = column(spec, "text", test_file)) columns.text = *name;
  if (const std::string* name = column(spec, "text2", test_file)) columns.text2 = *name;
  if (const std::string* name = column(spec, "label", test_file)) columns.label = *name;
  std::vector<RecordFile> out;
  for (const std::string& path : paths) {
    RecordFile file{.file = OCTET_TRY(TextFile::open(path)), .reader = nullptr};
    if (spec.kind == "jsonl") {
      file.reader = OCTET_TRY(make_json_reader(file.file, columns));
    } else {
      const Header header = OCTET_TRY(yes_or_no(spec, "header", true)) ? Header::kYes : Header::kNo;
      const auto format = spec.kind == "csv" ? TableFormat::kCsv : TableFormat::kTsv;
      file.reader = OCTET_TRY(make_table_reader(file.file, format, header, columns));
    }
    out.push_back(std::move(file));
  }
  return out;
}

Result<Source> open_records(const Request& request) {
  std::vector<std::string> keys = {"text", "text2",     "label",      "classes",
                                   "test", "test_text", "test_text2", "test_label"};
  if (request.spec.kind != "jsonl") keys.emplace_back("header");
  OCTET_TRY(request.spec.allow(keys));
  for (const char* key : {"test_text", "test_text2", "test_label"})
    if (request.spec.find(key) != nullptr && request.spec.find("test") == nullptr)
      return error("{}= names a column of a test file; name the file with test=FILE", key);
  const Files files = OCTET_TRY(choose_files(request));
  LabelRules rules;
  rules.ignore = request.purpose == Purpose::kCorpus;
  if (const std::string* classes = request.spec.find("classes")) {
    for (const std::string_view name : split(*classes, ','))
      rules.classes.emplace_back(name);
  } else if (!rules.ignore && (files.test_file || files.held_out.share > 0) &&
             request.split == Split::kTest) {
    // A test set has the classes of its training set.
    HeldOut training = files.held_out;
    training.part = Split::kTrain;
    const Source source = OCTET_TRY(make_record_source(
        OCTET_TRY(open_files(request.spec, request.spec.places, false)), rules, training, {}));
    rules.classes = source->classes();
    rules.found = true;
  }
  return make_record_source(OCTET_TRY(open_files(request.spec, files.paths, files.test_file)),
                            rules, files.held_out, wording_of(request, files, "example"));
}

Result<Source> open_plain(const Request& request) {
  const std::vector<std::string> keys = {"documents", "test"};
  OCTET_TRY(request.spec.allow(keys));
  Documents documents = Documents::kParagraphs;
  if (const std::string* value = request.spec.find("documents")) {
    if (*value != "lines" && *value != "paragraphs")
      return error("documents={} of text is neither lines nor paragraphs", *value);
    if (*value == "lines") documents = Documents::kLines;
  }
  const Files files = OCTET_TRY(choose_files(request));
  std::vector<TextFile> open;
  for (const std::string& path : files.paths)
    open.push_back(OCTET_TRY(TextFile::open(path)));
  return make_corpus(std::move(open), documents, files.held_out,
                     wording_of(request, files, "document"));
}

/// Without split=, a corpus trains on the unlabelled reviews; it is tested on the test reviews.
Result<Source> open_imdb_part(const Request& request) {
  const std::vector<std::string> keys = {"split"};
  OCTET_TRY(request.spec.allow(keys));
  const bool corpus = request.purpose == Purpose::kCorpus;
  ImdbPart part = corpus ? ImdbPart::kUnsupervised : ImdbPart::kTrain;
  if (request.split == Split::kTest) part = ImdbPart::kTest;
  Labels labels = corpus ? Labels::kNo : Labels::kYes;
  if (const std::string* value = request.spec.find("split")) {
    if (*value == "train") {
      part = ImdbPart::kTrain;
    } else if (*value == "test") {
      part = ImdbPart::kTest;
    } else if (*value == "unsup") {
      labels = Labels::kNo;
      if (request.split == Split::kTrain) part = ImdbPart::kUnsupervised;
    } else {
      return error("split={} of imdb is neither train, test nor unsup", *value);
    }
  }
  if (request.spec.places.size() != 1) return error("imdb takes one folder; write imdb:DIR");
  return open_imdb(request.spec.places[0], part, labels);
}

Result<Source> open_generated_reviews(const Request& request) {
  const std::vector<std::string> keys = {"last"};
  OCTET_TRY(request.spec.allow(keys));
  int64_t last = 0;
  if (const std::string* value = request.spec.find("last")) {
    const char* end = value->data() + value->size();
    const auto [at, code] = std::from_chars(value->data(), end, last);
    if (code != std::errc() || at != end || last < 1)
      return error("last={} of reviews is no number of sentences; write last=3", *value);
  }
  return open_reviews(request.split,
                      request.purpose == Purpose::kCorpus ? Labels::kNo : Labels::kYes, last);
}

/// The folder of GLUE: train.tsv and dev.tsv, whose labels are known; test.tsv has none.
Result<Source> open_sst2(const Request& request) {
  OCTET_TRY(request.spec.allow({}));
  if (request.spec.places.size() != 1) return error("sst2 takes one folder; write sst2:DIR");
  const std::filesystem::path folder = request.spec.places[0];
  std::error_code ignored;
  if (std::filesystem::is_regular_file(folder, ignored))
    return error("{} is a file; unpack it, and name the folder that train.tsv and dev.tsv are in",
                 folder.string());
  for (const char* name : {"train.tsv", "dev.tsv"}) {
    if (std::filesystem::exists(folder / name, ignored)) continue;
    if (std::filesystem::exists(folder / "SST-2" / name, ignored))
      return error(ErrorCode::kNotFound, "no {} in {}; write sst2:{}", name, folder.string(),
                   (folder / "SST-2").string());
    return error(ErrorCode::kNotFound,
                 "no {} in {}; octet data fetch sst2 downloads SST-2 and says where", name,
                 folder.string());
  }
  Request records = request;
  records.spec = {"tsv",
                  {(folder / "train.tsv").string()},
                  {{"text", "sentence"},
                   {"label", "label"},
                   {"classes", "negative,positive"},
                   {"test", (folder / "dev.tsv").string()}}};
  Result<Source> opened = open_records(records);
  if (opened.ok() || opened.error().code() != ErrorCode::kNotFound) return opened;
  return error(ErrorCode::kNotFound,
               "{}; sst2 wants the columns sentence and label in both files, others go as "
               "\"tsv:{}?text=COLUMN&label=COLUMN&classes=negative,positive&test={}"
               "&test_text=COLUMN\"",
               opened.error().text(), (folder / "train.tsv").string(),
               (folder / "dev.tsv").string());
}

struct TextKind {
  std::string_view name;
  std::string_view form;
  bool takes_place;
  Result<Source> (*open)(const Request& request);
};

constexpr TextKind kTextKinds[] = {
    {"imdb", "imdb:DIR", true, open_imdb_part},
    {"sst2", "sst2:DIR", true, open_sst2},
    {"tsv", "tsv:FILE?text=COLUMN&label=COLUMN", true, open_records},
    {"csv", "csv:FILE?text=COLUMN&label=COLUMN", true, open_records},
    {"jsonl", "jsonl:FILE?text=KEY&label=KEY", true, open_records},
    {"text", "text:FILE", true, open_plain},
    {"reviews", "reviews or reviews?last=3", false, open_generated_reviews},
};

Result<Source> open_source(std::string_view spec, Split split, Purpose purpose) {
  Request request{OCTET_TRY(parse_text_spec(spec)), split, purpose};
  for (const TextKind& kind : kTextKinds) {
    if (kind.name != request.spec.kind) continue;
    if (request.spec.places.empty() == kind.takes_place) {
      return error("data set \"{}\" is incomplete or says too much; write {}", spec, kind.form);
    }
    return kind.open(request);
  }
  return unknown_text(spec);
}

} // namespace

Result<int64_t> TextSource::label(int64_t index) const {
  return OCTET_TRY(example(index)).label;
}

Result<std::shared_ptr<const TextSource>> open_text(std::string_view spec, Split split) {
  return open_source(spec, split, Purpose::kLabelled);
}

Result<std::shared_ptr<const TextSource>> open_corpus(std::string_view spec, Split split) {
  return open_source(spec, split, Purpose::kCorpus);
}

std::vector<std::string> text_forms() {
  std::vector<std::string> out;
  for (const TextKind& row : kTextKinds)
    out.emplace_back(row.form);
  return out;
}

bool is_text_spec(std::string_view spec) {
  const std::string_view kind = spec.substr(0, spec.find_first_of(":?"));
  for (const TextKind& row : kTextKinds) {
    if (row.name == kind) return true;
  }
  return false;
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "cli/predictions.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "core/atomic_file.h"
#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include "data/npz.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

struct FormatName {
  const char* name;
  PredictionFormat format;
};
constexpr FormatName kPredictionFormats[] = {{"text", PredictionFormat::kText},
                                             {"jsonl", PredictionFormat::kJsonLines},
                                             {"csv", PredictionFormat::kCsv},
                                             {"npz", PredictionFormat::kNpz}};

/// Lines to standard output, each at once, or to a file.
class LineSink {
 public:
  static Result<LineSink> open(const std::string& path, const Common& common) {
    LineSink out;
    if (!path.empty())
      out.file_.emplace(
          OCTET_TRY(AtomicFile::create(path, common.force ? Overwrite::kYes : Overwrite::kNo)));
    return out;
  }
  Status write(const std::string& line) {
    if (file_) return file_->write(line);
    std::fwrite(line.data(), 1, line.size(), stdout);
    // A reader that waits for one answer before it asks again gets it. Failures end the command's
    // output with an error (main.cc).
    std::fflush(stdout);
    return ok_status();
  }
  Status commit() { return file_ ? file_->commit() : ok_status(); }

 private:
  std::optional<AtomicFile> file_;
};

class LineWriter : public PredictionWriter {
 public:
  LineWriter(PredictionOptions options, LineSink sink)
      : options_(std::move(options)), sink_(std::move(sink)) {}
  Status add(const Prediction& p) override { return sink_.write(line(p)); }
  Status finish() override { return sink_.commit(); }

 protected:
  virtual std::string line(const Prediction& p) = 0;
  const std::string& class_name(int64_t c) const {
    return options_.classes[static_cast<size_t>(c)];
  }
  /// What was asked, by name.
  std::vector<std::pair<const char*, const std::string*>> strings(const Prediction& p) const {
    if (options_.asked == Asked::kFiles) return {{"file", &p.file}};
    if (options_.asked == Asked::kTexts) return {{"text", &p.text}};
    if (options_.asked == Asked::kPairs) return {{"text", &p.text}, {"text2", &p.text2}};
    return {};
  }

  PredictionOptions options_;

 private:
  LineSink sink_;
};

/// Numbers, a blank between.
template <class Numbers>
std::string numbers_text(const Numbers& numbers) {
  return fmt::format("{:.6g}", fmt::join(numbers, " "));
}

class TextLines final : public LineWriter {
 public:
  TextLines(PredictionOptions options, LineSink sink)
      : LineWriter(std::move(options), std::move(sink)) {
    constexpr size_t kWidest = 24;
    for (const std::string& name : options_.classes)
      width_ = std::max(width_, std::min(name.size(), kWidest));
  }

 protected:
  std::string line(const Prediction& p) override {
    std::string out = p.numbers.empty() ? std::string() : numbers_text(p.numbers) + "  ";
    if (!p.wanted.empty()) out += fmt::format("is {}  ", numbers_text(p.wanted));
    for (const int64_t c : likeliest(p.probabilities, options_.top))
      out += fmt::format("{:<{}} {:.4f}  ", class_name(c), width_,
                         p.probabilities[static_cast<size_t>(c)]);
    if (p.label) out += fmt::format("is {:<{}}  ", class_name(*p.label), width_);
    switch (options_.asked) {
    case Asked::kFiles:
      return out + p.file + "\n";
    case Asked::kTexts:
      return out + one_line(p.text) + "\n";
    case Asked::kPairs:
      return out + one_line(p.text) + " | " + one_line(p.text2) + "\n";
    case Asked::kExamples:
      break;
    }
    return out + fmt::format("example {}\n", p.index);
  }

 private:
  size_t width_ = 1;
};

/// A number by itself, or a list of them.
template <class Numbers>
nlohmann::ordered_json numbers_json(const Numbers& numbers) {
  return numbers.size() == 1 ? nlohmann::ordered_json(numbers[0]) : nlohmann::ordered_json(numbers);
}

class JsonLines final : public LineWriter {
 public:
  using LineWriter::LineWriter;

 protected:
  std::string line(const Prediction& p) override {
    nlohmann::ordered_json out = {{"index", p.index}};
    for (const auto& [name, text] : strings(p))
      out[name] = *text;
    if (options_.of_numbers) {
      if (!p.wanted.empty()) out["label"] = numbers_json(p.wanted);
      out["predicted"] = numbers_json(p.numbers);
      return json_text(out, -1) + "\n";
    }
    const std::vector<int64_t> top = likeliest(p.probabilities, options_.top);
    if (p.label) out["label"] = class_name(*p.label);
    out["predicted"] = class_name(top.front());
    out["probability"] = p.probabilities[static_cast<size_t>(top.front())];
    if (top.size() > 1)
      for (const int64_t c : top)
        out["top"].push_back(
            {{"label", class_name(c)}, {"probability", p.probabilities[static_cast<size_t>(c)]}});
    if (options_.all_probabilities) out["probabilities"] = p.probabilities;
    return json_text(out, -1) + "\n";
  }
};

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    out += c;
    if (c == '"') out += c;
  }
  return out + "\"";
}

/// The first prediction decides which columns there are.
class CsvLines final : public LineWriter {
 public:
  using LineWriter::LineWriter;

 protected:
  std::string line(const Prediction& p) override {
    const std::string begin = first_ ? header(p) : "";
    first_ = false;
    std::vector<std::string> fields = {std::to_string(p.index)};
    for (const auto& [name, text] : strings(p))
      fields.push_back(csv_field(*text));
    for (const double wanted : p.wanted)
      fields.push_back(fmt::format("{}", wanted));
    for (const float number : p.numbers)
      fields.push_back(fmt::format("{}", number));
    if (options_.of_numbers) return begin + join(fields, ",") + "\n";
    const int64_t best = likeliest(p.probabilities, 1).front();
    if (p.label) fields.push_back(csv_field(class_name(*p.label)));
    fields.push_back(csv_field(class_name(best)));
    fields.push_back(fmt::format("{}", p.probabilities[static_cast<size_t>(best)]));
    for (size_t c = 0; options_.all_probabilities && c < p.probabilities.size(); ++c)
      fields.push_back(fmt::format("{}", p.probabilities[c]));
    return begin + join(fields, ",") + "\n";
  }

 private:
  std::string header(const Prediction& p) const {
    std::vector<std::string> names = {"index"};
    for (const auto& [name, text] : strings(p))
      names.emplace_back(name);
    add_columns(names, "label", p.wanted.size());
    add_columns(names, "predicted", p.numbers.size());
    if (options_.of_numbers) return join(names, ",") + "\n";
    if (p.label) names.emplace_back("label");
    names.insert(names.end(), {"predicted", "probability"});
    for (size_t c = 0; options_.all_probabilities && c < options_.classes.size(); ++c)
      names.push_back(csv_field("p " + options_.classes[c]));
    return join(names, ",") + "\n";
  }

  /// `predicted`, or `predicted 0`, `predicted 1`, ...
  static void add_columns(std::vector<std::string>& names, const char* name, size_t count) {
    for (size_t i = 0; i < count; ++i)
      names.push_back(count == 1 ? name : fmt::format("{} {}", name, i));
  }

  bool first_ = true;
};

/// Arrays index, file, label, predicted; of classes probabilities and classes too. Written at the
/// end.
class NpzArrays final : public PredictionWriter {
 public:
  NpzArrays(PredictionOptions options, Overwrite overwrite)
      : options_(std::move(options)), overwrite_(overwrite) {}

  Status add(const Prediction& p) override {
    index_.push_back(p.index);
    if (!p.file.empty()) files_.push_back(p.file);
    const std::span<const float> numbers = options_.of_numbers ? p.numbers : p.probabilities;
    numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
    wanted_.insert(wanted_.end(), p.wanted.begin(), p.wanted.end());
    if (options_.of_numbers) return ok_status();
    predicted_.push_back(likeliest(p.probabilities, 1).front());
    if (p.label) labels_.push_back(*p.label);
    return ok_status();
  }

  Status finish() override {
    const int64_t n = std::ssize(index_), classes = std::ssize(options_.classes);
    NamedTensors out = {{"index", rows<int64_t>(index_)}};
    if (std::ssize(files_) == n && n > 0)
      out.emplace_back("file", OCTET_TRY(Tensor::strings({n}, files_)));
    if (options_.of_numbers) {
      if (!wanted_.empty()) out.emplace_back("label", rows<double>(wanted_));
      out.emplace_back("predicted", rows<float>(numbers_));
      return write_npz(options_.path, out, overwrite_);
    }
    if (std::ssize(labels_) == n && n > 0) out.emplace_back("label", rows<int64_t>(labels_));
    out.emplace_back("predicted", rows<int64_t>(predicted_));
    out.emplace_back("probabilities",
                     Tensor::of<float>(Shape{n, classes}, std::span<const float>(numbers_)));
    out.emplace_back("classes", OCTET_TRY(Tensor::strings({classes}, options_.classes)));
    return write_npz(options_.path, out, overwrite_);
  }

 private:
  /// [n], or [n, numbers].
  template <class T>
  Tensor rows(const std::vector<T>& values) const {
    const int64_t n = std::ssize(index_), width = n > 0 ? std::ssize(values) / n : 1;
    return Tensor::of<T>(width == 1 ? Shape{n} : Shape{n, width}, std::span<const T>(values));
  }

  PredictionOptions options_;
  Overwrite overwrite_;
  std::vector<int64_t> index_, predicted_, labels_;
  std::vector<float> numbers_; ///< probabilities, of classes
  std::vector<double> wanted_;
  std::vector<std::string> files_;
};

} // namespace

Result<PredictionFormat> prediction_format(const std::string& name) {
  std::vector<std::string> known;
  for (const FormatName& row : kPredictionFormats) {
    if (name == row.name) return row.format;
    known.emplace_back(row.name);
  }
  return error("no format \"{}\"{}", name, suggestion(name, known));
}

std::optional<PredictionFormat> format_of_file(const std::string& path) {
  for (const FormatName& row : kPredictionFormats)
    if (path.ends_with(std::string(".") + row.name)) return row.format;
  return std::nullopt;
}

namespace {

/// nan is behind all numbers.
float ranked(float probability) {
  return std::isnan(probability) ? -1.0F : probability;
}

} // namespace

std::vector<int64_t> likeliest(std::span<const float> probabilities, int64_t top) {
  std::vector<int64_t> out(probabilities.size());
  std::iota(out.begin(), out.end(), 0);
  const auto count = static_cast<ptrdiff_t>(std::min<int64_t>(top, std::ssize(out)));
  std::partial_sort(out.begin(), out.begin() + count, out.end(), [&](int64_t a, int64_t b) {
    const float pa = ranked(probabilities[static_cast<size_t>(a)]);
    const float pb = ranked(probabilities[static_cast<size_t>(b)]);
    return pa > pb || (pa == pb && a < b);
  });
  out.resize(static_cast<size_t>(count));
  return out;
}

std::string one_line(const std::string& text, size_t most) {
  std::string out;
  size_t count = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) != 0x80 && ++count > most) return out + "…";
    out += byte < 0x20 || byte == 0x7f ? ' ' : c;
  }
  return out;
}

Result<std::unique_ptr<PredictionWriter>> PredictionWriter::create(PredictionOptions options,
                                                                   const Common& common) {
  using Made = std::unique_ptr<PredictionWriter>;
  if (options.format == PredictionFormat::kNpz) {
    if (options.path.empty()) return error("npz goes to a file; name it with -o FILE.npz");
    const Overwrite overwrite = common.force ? Overwrite::kYes : Overwrite::kNo;
    return Made(std::make_unique<NpzArrays>(std::move(options), overwrite));
  }
  LineSink sink = OCTET_TRY(LineSink::open(options.path, common));
  if (options.format == PredictionFormat::kJsonLines)
    return Made(std::make_unique<JsonLines>(std::move(options), std::move(sink)));
  if (options.format == PredictionFormat::kCsv)
    return Made(std::make_unique<CsvLines>(std::move(options), std::move(sink)));
  return Made(std::make_unique<TextLines>(std::move(options), std::move(sink)));
}

} // namespace octet::cli

// SPDX-License-Identifier: Apache-2.0
// What a model predicts, classes or numbers, written as lines of text, JSON lines, CSV or npz.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/command.h"

namespace octet::cli {

struct Prediction {
  int64_t index = 0;                    ///< its place in what was given
  std::string text, text2, file;        ///< what was asked, as far as it is at hand
  std::optional<int64_t> label;         ///< what it is, where that is known
  std::span<const float> probabilities; ///< of the classes
  std::span<const float> numbers;       ///< instead, of a model that has no classes
  std::vector<double> wanted;           ///< what these are, where that is known
};

enum class Asked { kExamples, kTexts, kPairs, kFiles }; ///< which strings predictions have
enum class PredictionFormat { kText, kJsonLines, kCsv, kNpz };
/// Errors: another name than text, jsonl, csv or npz.
Result<PredictionFormat> prediction_format(const std::string& name);
/// By a file's ending; none: it has none of these.
std::optional<PredictionFormat> format_of_file(const std::string& path);

struct PredictionOptions {
  PredictionFormat format = PredictionFormat::kText;
  Asked asked = Asked::kExamples;
  std::string path;                 ///< empty: standard output, a line at a time
  std::vector<std::string> classes; ///< a name for each class
  int64_t top = 1;                  ///< classes that a line names
  bool all_probabilities = false;   ///< of JSON lines and CSV: those of all classes
  bool of_numbers = false;          ///< rather than of classes
};

/// Classes from the likeliest on, at most `top`; the first of equal ones first.
std::vector<int64_t> likeliest(std::span<const float> probabilities, int64_t top);

/// One line for a person: white space and control characters are blanks, cut behind `most`
/// characters.
std::string one_line(const std::string& text, size_t most = 60);

/// A file appears whole when finish() succeeds, or not at all.
class PredictionWriter {
 public:
  static Result<std::unique_ptr<PredictionWriter>> create(PredictionOptions options,
                                                          const Common& common);
  virtual ~PredictionWriter() = default;
  virtual Status add(const Prediction& prediction) = 0;
  virtual Status finish() = 0;
};

} // namespace octet::cli

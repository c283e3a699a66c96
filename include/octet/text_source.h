// SPDX-License-Identifier: Apache-2.0
// TextSource: raw texts with labels, from files or generated, before any tokenizer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "octet/dataset.h"

namespace octet {

struct TextExample {
  std::string text;
  std::string text2;  ///< empty: not a pair
  int64_t label = -1; ///< a class number; -1: unlabelled
};

/// Texts in the order of their files. Files are mapped, gzipped ones unpacked in memory; beyond
/// that some 12 bytes are kept for each example.
class TextSource {
 public:
  virtual ~TextSource() = default;
  /// `IMDB, 25000 training reviews`; says the classes where they are names found in a file.
  virtual std::string description() const = 0;
  virtual int64_t size() const = 0;
  /// Whether every example has two texts.
  virtual bool pairs() const = 0;
  /// Empty: unlabelled. Otherwise every example has a label.
  virtual const std::vector<std::string>& classes() const = 0;
  /// Safe from several threads. Errors: an index out of range, a file that has vanished.
  virtual Result<TextExample> example(int64_t index) const = 0;
  /// example(index).label, in most sources without reading the text.
  virtual Result<int64_t> label(int64_t index) const;
};

/// Opens `kind:PLACE?key=value&key=value` (docs/data.md): imdb:DIR, tsv:FILE, csv:FILE, jsonl:FILE,
/// text:FILE, reviews. Everything is read once and checked: ragged rows, unknown columns, empty
/// texts, labels that are no classes and damaged gzip are errors that name the file and the line.
Result<std::shared_ptr<const TextSource>> open_text(std::string_view spec, Split split);
/// The same for pretraining, where labels do not matter: imdb:DIR means its unlabelled reviews.
Result<std::shared_ptr<const TextSource>> open_corpus(std::string_view spec, Split split);
/// Whether the kind of a data set is one that open_text knows (else ask open_dataset).
bool is_text_spec(std::string_view spec);

} // namespace octet

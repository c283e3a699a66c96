// SPDX-License-Identifier: Apache-2.0
// Texts and a small vocabulary for the tests of tokenized data sets.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "octet/text_source.h"
#include "octet/tokenizer.h"

namespace octet::test {

/// Texts at hand.
class Texts final : public TextSource {
 public:
  explicit Texts(std::vector<TextExample> examples, std::vector<std::string> classes = {})
      : examples_(std::move(examples)), classes_(std::move(classes)) {}
  std::string description() const override { return "texts"; }
  int64_t size() const override { return static_cast<int64_t>(examples_.size()); }
  bool pairs() const override { return !examples_.empty() && !examples_[0].text2.empty(); }
  const std::vector<std::string>& classes() const override { return classes_; }
  Result<TextExample> example(int64_t index) const override {
    return examples_[static_cast<size_t>(index)];
  }

 private:
  std::vector<TextExample> examples_;
  std::vector<std::string> classes_;
};

/// Special tokens, then w0 ... w199 and the continuations ##a ... ##e, a full stop.
inline Tokenizer small_tokenizer() {
  std::vector<std::string> words = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "."};
  for (char c = 'a'; c <= 'e'; ++c)
    words.push_back(std::string("##") + c);
  for (int i = 0; i < 200; ++i)
    words.push_back("w" + std::to_string(i));
  return Tokenizer::create(std::move(words), {}).value();
}

/// `count` documents of 2 to 9 sentences; every word tells its document: w(document % 200), and a
/// sentence is a run of that word with endings.
inline std::shared_ptr<const TextSource> documents(int count) {
  std::vector<TextExample> out;
  for (int d = 0; d < count; ++d) {
    const std::string word = " w" + std::to_string(d % 200);
    TextExample example;
    for (int s = 0; s < 2 + d % 8; ++s) {
      for (int k = 0; k < 3 + (d + s) % 7; ++k)
        example.text += word + (k % 3 == 1 ? "ab" : "");
      example.text += ".\n";
    }
    out.push_back(std::move(example));
  }
  return std::make_shared<Texts>(std::move(out));
}

} // namespace octet::test

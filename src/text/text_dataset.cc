// SPDX-License-Identifier: Apache-2.0
// Texts with labels as rows of token ids.
#include "octet/text_dataset.h"

#include "core/format.h"
#include "text/rows.h"
#include "text/tokenize.h"

namespace octet {
namespace {

int64_t special_tokens_of(bool pairs) {
  return pairs ? 3 : 2;
}

Row cut_row(const SpecialTokens& special,
            std::vector<int32_t> first,
            std::vector<int32_t> second,
            bool pairs,
            int64_t max_length) {
  const auto [first_length, second_length] =
      longest_first(std::ssize(first), std::ssize(second), max_length - special_tokens_of(pairs));
  first.resize(static_cast<size_t>(first_length));
  second.resize(static_cast<size_t>(second_length));
  return pairs ? make_row(special, first, second) : make_row(special, first);
}

class TextDataset final : public Dataset {
 public:
  TextDataset(const TextSource& source,
              std::shared_ptr<const TokenStore> store,
              std::vector<int32_t> labels,
              std::vector<int64_t> positions,
              const SpecialTokens& special,
              TextDatasetOptions options)
      : description_(source.description()), classes_(source.classes()), pairs_(source.pairs()),
        store_(std::move(store)), labels_(std::move(labels)), positions_(std::move(positions)),
        special_(special), options_(std::move(options)), features_(row_features(options_)) {
    if (size() != source.size()) description_ += fmt::format(" ({} of them)", size());
  }

  std::string description() const override { return description_; }
  int64_t size() const override { return store_->units(); }
  const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
    return features_;
  }
  const std::vector<std::string>& classes() const override { return classes_; }

  int64_t length(int64_t index) const override {
    const auto [first, second] = lengths(index);
    return first + second + special_tokens_of(pairs_);
  }
  int64_t position(int64_t index) const override { return positions_[static_cast<size_t>(index)]; }

  Result<Batch> batch(std::span<const int64_t> indices) const override {
    std::vector<Row> rows;
    rows.reserve(indices.size());
    for (const int64_t index : indices) {
      OCTET_TRY(check_index(index, size(), description_));
      rows.push_back(row(index));
    }
    Batch out;
    OCTET_TRY(add_row_features(rows, padded_length(rows, options_), special_, options_, out));
    if (classes_.empty()) return out;
    out.labels = OCTET_TRY(Tensor::zeros(DType::kInt64, {static_cast<int64_t>(indices.size())}));
    const auto labels = out.labels.mutable_data<int64_t>();
    for (size_t i = 0; i < indices.size(); ++i)
      labels[i] = labels_[static_cast<size_t>(indices[i])];
    return out;
  }

 private:
  /// What is left of both texts.
  std::pair<int64_t, int64_t> lengths(int64_t index) const {
    const int64_t piece = store_->first_piece(index);
    return longest_first(store_->length(piece), pairs_ ? store_->length(piece + 1) : 0,
                         options_.max_length - special_tokens_of(pairs_));
  }

  Row row(int64_t index) const {
    const int64_t piece = store_->first_piece(index);
    std::vector<int32_t> first, second;
    store_->append(piece, first);
    if (pairs_) store_->append(piece + 1, second);
    return cut_row(special_, std::move(first), std::move(second), pairs_, options_.max_length);
  }

  std::string description_;
  std::vector<std::string> classes_;
  bool pairs_;
  std::shared_ptr<const TokenStore> store_;
  std::vector<int32_t> labels_;
  std::vector<int64_t> positions_;
  SpecialTokens special_;
  TextDatasetOptions options_;
  std::vector<std::pair<std::string, TypeInfo>> features_;
};

} // namespace

Result<std::shared_ptr<const Dataset>> make_text_dataset(std::shared_ptr<const TextSource> source,
                                                         const Tokenizer& tokenizer,
                                                         const TextDatasetOptions& options) {
  OCTET_TRY(check_options(options, source->pairs() ? 5 : 3));
  std::vector<int64_t> chosen = chosen_examples(source->size(), options.limit, options.seed);
  const std::shared_ptr<const TokenStore> store =
      OCTET_TRY(tokenize(*source, chosen, tokenizer, Cut::kTexts, options));
  std::vector<int32_t> labels;
  for (const int64_t index : chosen) {
    if (source->classes().empty()) break;
    labels.push_back(static_cast<int32_t>(OCTET_TRY(source->label(index))));
  }
  auto data = std::make_shared<TextDataset>(*source, store, std::move(labels), std::move(chosen),
                                            SpecialTokens(tokenizer), options);
  source.reset(); // unpacked files are as large as their text
  return std::shared_ptr<const Dataset>(std::move(data));
}

Result<Batch> text_batch(std::span<const TextExample> texts,
                         const Tokenizer& tokenizer,
                         const TextDatasetOptions& options) {
  const bool pairs = !texts.empty() && !texts.front().text2.empty();
  OCTET_TRY(check_options(options, pairs ? 5 : 3));
  const SpecialTokens special(tokenizer);
  EncodeOptions plain;
  plain.special_tokens = false;
  std::vector<Row> rows;
  for (const TextExample& text : texts)
    rows.push_back(cut_row(special, tokenizer.encode(text.text, plain).ids,
                           tokenizer.encode(text.text2, plain).ids, pairs, options.max_length));
  Batch out;
  OCTET_TRY(add_row_features(rows, padded_length(rows, options), special, options, out));
  return out;
}

Result<std::shared_ptr<const Dataset>> open_text_dataset(std::string_view spec,
                                                         Split split,
                                                         const Tokenizer& tokenizer,
                                                         const TextDatasetOptions& options) {
  return make_text_dataset(OCTET_TRY(open_text(spec, split)), tokenizer, options);
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// Rows for BERT's pretraining. Documents are cut once into chunks: consecutive sentences, as many
// as fill a row. What is made of a chunk in an epoch (the place where it is cut in two, whether the
// second part is exchanged, masks) comes from the random stream of (seed, epoch, chunk).
// A part from another document is about as long as the one that it stands for, so that the length
// of a row says nothing about the answer.
#include <algorithm>

#include "core/format.h"
#include "core/hash.h"
#include "core/philox.h"
#include "text/masking.h"
#include "text/rows.h"
#include "text/tokenize.h"

#include "octet/text_dataset.h"

namespace octet {
namespace {

struct Chunk {
  int64_t unit = 0;
  int64_t first = 0; ///< piece
  int64_t count = 0; ///< of pieces
  int64_t tokens = 0;
};

/// Greedy: a chunk ends with the sentence that fills `room`. One of a single sentence is widened by
/// the next (or the last) one of its document, so that it can be cut in two.
std::vector<Chunk> cut_chunks(const TokenStore& store, int64_t room, bool widen) {
  std::vector<Chunk> out;
  for (int64_t unit = 0; unit < store.units(); ++unit) {
    const int64_t begin = store.first_piece(unit);
    const int64_t end = store.first_piece(unit + 1);
    for (int64_t piece = begin; piece < end;) {
      Chunk chunk{unit, piece, 0, 0};
      while (piece < end && chunk.tokens < room) {
        chunk.tokens += store.length(piece++);
        ++chunk.count;
      }
      if (widen && chunk.count == 1 && end - begin > 1) {
        if (piece == end) --chunk.first;
        ++chunk.count;
        chunk.tokens = store.length(chunk.first) + store.length(chunk.first + 1);
      }
      out.push_back(chunk);
    }
  }
  return out;
}

/// Takes tokens off the longer part, from its front or its back at random, until both fit.
void truncate_pair(std::vector<int32_t>& first,
                   std::vector<int32_t>& second,
                   int64_t room,
                   Philox& random) {
  size_t front[2] = {0, 0};
  size_t left[2] = {first.size(), second.size()};
  while (left[0] + left[1] > static_cast<size_t>(room)) {
    const int which = left[0] > left[1] ? 0 : 1;
    --left[which];
    if (random.below(2) == 0) ++front[which];
  }
  std::vector<int32_t>* parts[2] = {&first, &second};
  for (size_t k = 0; k < 2; ++k) {
    const auto begin = parts[k]->begin() + static_cast<ptrdiff_t>(front[k]);
    *parts[k] = std::vector<int32_t>(begin, begin + static_cast<ptrdiff_t>(left[k]));
  }
}

struct Example {
  Row row;
  std::vector<int64_t> labels; ///< by column
  int64_t next = 0;            ///< 1: the second part is from another document
};

class PretrainingDataset final : public Dataset {
 public:
  PretrainingDataset(const std::string& source,
                     std::shared_ptr<const TokenStore> store,
                     MaskingRule rule,
                     const SpecialTokens& special,
                     TextDatasetOptions options,
                     const MaskingOptions& masking,
                     NextSentence next_sentence,
                     Predictions predictions)
      : store_(std::move(store)), rule_(std::move(rule)), special_(special),
        options_(std::move(options)), short_rate_(masking.short_rate),
        pairs_(next_sentence == NextSentence::kYes),
        gathered_(predictions == Predictions::kGathered), features_(row_features(options_)),
        chunks_(cut_chunks(*store_, room(), pairs_)) {
    description_ =
        fmt::format("{}: {} rows of up to {} tokens", source, chunks_.size(), options_.max_length);
    if (!gathered_) return;
    TypeInfo type;
    type.type = DType::kInt64;
    type.shape = {Dim::symbol("M")};
    features_.emplace_back("masked_positions", std::move(type));
  }

  std::string description() const override { return description_; }
  int64_t size() const override { return static_cast<int64_t>(chunks_.size()); }
  const std::vector<std::pair<std::string, TypeInfo>>& features() const override {
    return features_;
  }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t length(int64_t index) const override {
    return std::min(chunks_[static_cast<size_t>(index)].tokens, room()) + specials();
  }
  Result<Batch> batch(std::span<const int64_t> indices) const override {
    return batch_at(indices, 0);
  }

  Result<Batch> batch_at(std::span<const int64_t> indices, int64_t epoch) const override {
    std::vector<Row> rows;
    std::vector<std::vector<int64_t>> labels;
    std::vector<int64_t> next;
    for (const int64_t index : indices) {
      OCTET_TRY(check_index(index, size(), description_));
      Example example = make_example(index, epoch);
      rows.push_back(std::move(example.row));
      labels.push_back(std::move(example.labels));
      next.push_back(example.next);
    }
    Batch out;
    const int64_t length = padded_length(rows, options_);
    OCTET_TRY(add_row_features(rows, length, special_, options_, out));
    OCTET_TRY(add_labels(labels, length, out));
    if (pairs_) {
      const auto n = static_cast<int64_t>(next.size());
      out.targets.emplace_back("nsp_labels", Tensor::of<int64_t>({n}, next));
    }
    return out;
  }

 private:
  int64_t specials() const { return pairs_ ? 3 : 2; }
  int64_t room() const { return options_.max_length - specials(); }

  void append(int64_t piece, int64_t count, std::vector<int32_t>& out) const {
    for (int64_t i = 0; i < count; ++i)
      store_->append(piece + i, out);
  }

  Example make_example(int64_t index, int64_t epoch) const {
    const Chunk& chunk = chunks_[static_cast<size_t>(index)];
    Philox random(hash_value(static_cast<uint64_t>(epoch), options_.seed),
                  static_cast<uint64_t>(index));
    int64_t target = room();
    if (random.uniform() < short_rate_) target = 2 + random.below(std::max<int64_t>(room() - 1, 1));
    Example out;
    out.row =
        pairs_ ? pair_row(chunk, target, random, out.next) : single_row(chunk, target, random);
    out.labels = rule_.apply(out.row, random);
    return out;
  }

  Row single_row(const Chunk& chunk, int64_t target, Philox& random) const {
    std::vector<int32_t> tokens;
    for (int64_t i = 0; i < chunk.count && static_cast<int64_t>(tokens.size()) < target; ++i)
      store_->append(chunk.first + i, tokens);
    std::vector<int32_t> none;
    truncate_pair(tokens, none, target, random);
    return make_row(special_, tokens);
  }

  Row pair_row(const Chunk& chunk, int64_t target, Philox& random, int64_t& next) const {
    int64_t count = 0, tokens = 0;
    while (count < chunk.count && (count < 2 || tokens < target))
      tokens += store_->length(chunk.first + count++);
    const int64_t cut = count == 1 ? 1 : 1 + random.below(count - 1);
    std::vector<int32_t> first, second;
    append(chunk.first, cut, first);
    const bool follows = count > 1 && random.below(2) == 0;
    if (follows) {
      append(chunk.first + cut, count - cut, second);
    } else {
      const auto used = static_cast<int64_t>(first.size());
      const int64_t rest = count > 1 ? tokens - used : target - used;
      append_other(chunk.unit, std::max<int64_t>(rest, 1), random, second);
    }
    next = follows ? 0 : 1;
    truncate_pair(first, second, target, random);
    return make_row(special_, first, second);
  }

  /// Sentences from a random place of another document until there are `wanted` tokens.
  void append_other(int64_t unit, int64_t wanted, Philox& random, std::vector<int32_t>& out) const {
    int64_t other = random.below(store_->units() - 1);
    if (other >= unit) ++other;
    const int64_t begin = store_->first_piece(other);
    const int64_t end = store_->first_piece(other + 1);
    for (int64_t piece = begin + random.below(end - begin);
         piece < end && static_cast<int64_t>(out.size()) < wanted; ++piece)
      store_->append(piece, out);
  }

  Status
  add_labels(const std::vector<std::vector<int64_t>>& labels, int64_t length, Batch& out) const {
    const auto rows = static_cast<int64_t>(labels.size());
    if (gathered_) {
      std::vector<int64_t> positions, values;
      for (size_t r = 0; r < labels.size(); ++r) {
        for (size_t c = 0; c < labels[r].size(); ++c) {
          if (labels[r][c] < 0) continue;
          positions.push_back(static_cast<int64_t>(r) * length + static_cast<int64_t>(c));
          values.push_back(labels[r][c]);
        }
      }
      const auto count = static_cast<int64_t>(values.size());
      out.inputs.emplace_back("masked_positions", Tensor::of<int64_t>({count}, positions));
      out.targets.emplace_back("mlm_labels", Tensor::of<int64_t>({count}, values));
      return ok_status();
    }
    Tensor all = OCTET_TRY(Tensor::zeros(DType::kInt64, {rows, length}));
    const auto values = all.mutable_data<int64_t>();
    std::fill(values.begin(), values.end(), -100);
    for (size_t r = 0; r < labels.size(); ++r)
      std::copy(labels[r].begin(), labels[r].end(),
                values.begin() + static_cast<ptrdiff_t>(r * static_cast<size_t>(length)));
    out.targets.emplace_back("mlm_labels", std::move(all));
    return ok_status();
  }

  std::shared_ptr<const TokenStore> store_;
  MaskingRule rule_;
  SpecialTokens special_;
  TextDatasetOptions options_;
  double short_rate_;
  bool pairs_, gathered_;
  std::vector<std::pair<std::string, TypeInfo>> features_;
  std::vector<Chunk> chunks_;
  std::vector<std::string> classes_;
  std::string description_;
};

} // namespace

Result<std::shared_ptr<const Dataset>>
make_pretraining_dataset(std::shared_ptr<const TextSource> source,
                         const Tokenizer& tokenizer,
                         const TextDatasetOptions& options,
                         const MaskingOptions& masking,
                         NextSentence next_sentence,
                         Predictions predictions) {
  OCTET_TRY(check_options(options, 8));
  MaskingRule rule = OCTET_TRY(MaskingRule::create(tokenizer, masking));
  const std::vector<int64_t> chosen = chosen_examples(source->size(), options.limit, options.seed);
  const std::shared_ptr<const TokenStore> store =
      OCTET_TRY(tokenize(*source, chosen, tokenizer, Cut::kSentences, options));
  const std::string description = source->description();
  source.reset(); // unpacked files are as large as their text
  if (store->units() == 0) {
    return error("{} has no tokens; name a text in the language of the vocabulary", description);
  }
  if (next_sentence == NextSentence::kYes && store->units() < 2) {
    return error("{} has one document, next-sentence pairs need two; put blank lines between "
                 "documents or pretrain without next sentences",
                 description);
  }
  return std::shared_ptr<const Dataset>(std::make_shared<PretrainingDataset>(
      description, store, std::move(rule), SpecialTokens(tokenizer), options, masking,
      next_sentence, predictions));
}

} // namespace octet

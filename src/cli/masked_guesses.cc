// SPDX-License-Identifier: Apache-2.0
#include "cli/masked_guesses.h"

#include <algorithm>
#include <numeric>

#include "cli/model_data.h"
#include "core/format.h"
#include "core/string_util.h"

#include "octet/bert.h"
#include "octet/dataset.h"
#include "octet/masked_tokens.h"

namespace octet::cli {
namespace {

Tensor row(const std::vector<int64_t>& values, bool matrix) {
  const auto n = static_cast<int64_t>(values.size());
  return Tensor::of<int64_t>(matrix ? Shape{1, n} : Shape{n}, std::span<const int64_t>(values));
}

/// The features that a language model of octet's may ask for; the graph takes those it has.
Batch features(const Encoding& text, const std::vector<int64_t>& masked) {
  const std::vector<int64_t> ids(text.ids.begin(), text.ids.end());
  const std::vector<int64_t> types(text.type_ids.begin(), text.type_ids.end());
  Batch batch;
  batch.inputs = {{"input_ids", row(ids, true)},
                  {"attention_mask", row(std::vector<int64_t>(ids.size(), 1), true)},
                  {"token_type_ids", row(types, true)},
                  {"masked_positions", row(masked, false)}};
  return batch;
}

Result<size_t> logits_of(const Graph& graph) {
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    if (graph.value(graph.outputs()[i]).name == "mlm_logits") return i;
  return error("the model has no output mlm_logits; fill-mask wants a masked language model, as "
               "octet pretrain bert makes one");
}

std::vector<Guess> best_tokens(const std::vector<double>& probabilities, int top) {
  std::vector<int32_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), 0);
  const auto count = std::min<size_t>(static_cast<size_t>(top), order.size());
  const auto likelier = [&](int32_t a, int32_t b) {
    const double pa = probabilities[static_cast<size_t>(a)],
                 pb = probabilities[static_cast<size_t>(b)];
    return pa > pb || (pa == pb && a < b);
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(),
                    likelier);
  std::vector<Guess> out;
  for (size_t i = 0; i < count; ++i)
    out.push_back({order[i], probabilities[static_cast<size_t>(order[i])]});
  return out;
}

} // namespace

Result<MaskFiller> MaskFiller::create(const Graph& graph, Tokenizer tokenizer) {
  if (tokenizer.mask() < 0) return error("its vocabulary has no [MASK]; it cannot fill one");
  const size_t output = OCTET_TRY(logits_of(graph));
  OCTET_TRY(check_tokenizer(graph, tokenizer));
  return MaskFiller(graph, std::move(tokenizer), output);
}

Result<MaskedText> MaskFiller::fill(Executor& executor, const std::string& given, int top) const {
  MaskedText out{tokenizer_.encode(given), {}};
  std::vector<int64_t> places;
  for (size_t i = 0; i < out.text.ids.size(); ++i)
    if (out.text.ids[i] == tokenizer_.mask()) places.push_back(static_cast<int64_t>(i));
  if (places.empty()) return error("\"{}\" has no [MASK]; put one where a word is wanted", given);
  const auto tokens = std::ssize(out.text.ids);
  if (const auto bert = bert_options(*graph_); bert.ok() && tokens > bert->positions)
    return error("the text is {} tokens long, the model has {} positions; shorten it", tokens,
                 bert->positions);
  const std::vector<Tensor> inputs = OCTET_TRY(bind_inputs(*graph_, features(out.text, places)));
  const Tensor logits = OCTET_TRY(executor.run(inputs))[output_].aligned();
  const bool all_rows = logits.rank() == 3;
  const auto vocabulary = static_cast<size_t>(logits.shape().back());
  for (size_t m = 0; m < places.size(); ++m) {
    const size_t at = all_rows ? static_cast<size_t>(places[m]) : m;
    const auto scores = logits.data<float>().subspan(at * vocabulary, vocabulary);
    out.masks.push_back({static_cast<size_t>(places[m]), best_tokens(softmax(scores), top)});
  }
  return out;
}

std::string MaskFiller::filled(const Encoding& text, size_t position, int32_t token) const {
  std::vector<std::string> parts;
  std::vector<int32_t> ids;
  for (size_t i = 0; i < text.ids.size(); ++i) {
    if (text.ids[i] != tokenizer_.mask() || i == position) {
      ids.push_back(i == position ? token : text.ids[i]);
      continue;
    }
    parts.push_back(tokenizer_.decode(ids));
    parts.emplace_back(tokenizer_.token(tokenizer_.mask()));
    ids.clear();
  }
  parts.push_back(tokenizer_.decode(ids));
  std::erase(parts, "");
  return join(parts, " ");
}

} // namespace octet::cli

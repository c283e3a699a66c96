// SPDX-License-Identifier: Apache-2.0
// octet fill-mask: what a language model puts in the place of each [MASK], with probabilities.
#include <algorithm>
#include <numeric>

#include "cli/command.h"
#include "cli/model_data.h"
#include "cli/models.h"
#include "cli/options.h"
#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include "report/table.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/bert.h"
#include "octet/dataset.h"
#include "octet/masked_tokens.h"
#include "octet/model_folder.h"
#include "octet/tokenizer.h"

namespace octet::cli {
namespace {

struct Guess {
  int32_t token;
  double probability;
};
struct Masked {
  size_t position; ///< among the tokens
  std::vector<Guess> guesses;
};

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

class FillMask final : public Command {
 public:
  std::string_view name() const override { return "fill-mask"; }
  std::string_view summary() const override { return "what a language model puts for [MASK]"; }
  std::string_view example() const override {
    return "octet fill-mask lm/ \"the film was [MASK] good\"";
  }

  void define(CLI::App& app) override {
    app.add_option("model", model_, "model folder of a masked language model")->required();
    app.add_option("text", text_, "with one or more [MASK]")->required();
    add_count_option(app, "--top", top_, "guesses for each [MASK]", {1, 1000})
        ->capture_default_str();
    app.add_option("--executor", executor_, "native, reference or torch")->capture_default_str();
  }

  Result<Answer> run(const Common& common) override {
    const Tokenizer tokenizer = OCTET_TRY(Tokenizer::load(OCTET_TRY(companion_folder(model_))));
    if (tokenizer.mask() < 0)
      return error("{}: its vocabulary has no [MASK]; it cannot fill one", model_);
    const Encoding text = tokenizer.encode(text_);
    std::vector<int64_t> places;
    for (size_t i = 0; i < text.ids.size(); ++i)
      if (text.ids[i] == tokenizer.mask()) places.push_back(static_cast<int64_t>(i));
    if (places.empty()) return error("\"{}\" has no [MASK]; put one where a word is wanted", text_);
    const std::vector<Masked> masked =
        OCTET_TRY_WITH(guess(tokenizer, text, places, common), model_);
    common.json ? print_json(tokenizer, text, masked) : print_table(tokenizer, text, masked);
    return Answer::kDone;
  }

 private:
  Result<std::vector<Masked>> guess(const Tokenizer& tokenizer,
                                    const Encoding& text,
                                    const std::vector<int64_t>& places,
                                    const Common& common) const {
    const Graph graph = OCTET_TRY(open_model(model_, common));
    const size_t output = OCTET_TRY(logits_of(graph));
    const auto tokens = static_cast<int64_t>(text.ids.size());
    if (const auto bert = bert_options(graph); bert.ok() && tokens > bert->positions)
      return error("the text is {} tokens long, the model has {} positions; shorten it", tokens,
                   bert->positions);
    OCTET_TRY(check_tokenizer(graph, tokenizer));
    const std::vector<Tensor> inputs = OCTET_TRY(bind_inputs(graph, features(text, places)));
    const std::unique_ptr<Executor> executor = OCTET_TRY(make_executor(graph, executor_, common));
    const Tensor logits = OCTET_TRY(executor->run(inputs))[output].aligned();
    const bool all_rows = logits.rank() == 3;
    const auto vocabulary = static_cast<size_t>(logits.shape().back());
    std::vector<Masked> out;
    for (size_t m = 0; m < places.size(); ++m) {
      const size_t at = all_rows ? static_cast<size_t>(places[m]) : m;
      const auto scores = logits.data<float>().subspan(at * vocabulary, vocabulary);
      out.push_back({static_cast<size_t>(places[m]), best(softmax(scores))});
    }
    return out;
  }

  std::vector<Guess> best(const std::vector<double>& probabilities) const {
    std::vector<int32_t> order(probabilities.size());
    std::iota(order.begin(), order.end(), 0);
    const auto count = std::min<size_t>(static_cast<size_t>(top_), order.size());
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

  /// The text with one guess in the place of one [MASK]; the others stay.
  static std::string
  filled(const Tokenizer& tokenizer, const Encoding& text, size_t position, int32_t token) {
    std::vector<std::string> parts;
    std::vector<int32_t> ids;
    for (size_t i = 0; i < text.ids.size(); ++i) {
      if (text.ids[i] != tokenizer.mask() || i == position) {
        ids.push_back(i == position ? token : text.ids[i]);
        continue;
      }
      parts.push_back(tokenizer.decode(ids));
      parts.emplace_back(tokenizer.token(tokenizer.mask()));
      ids.clear();
    }
    parts.push_back(tokenizer.decode(ids));
    std::erase(parts, "");
    return join(parts, " ");
  }

  static void
  print_json(const Tokenizer& tokenizer, const Encoding& text, const std::vector<Masked>& masked) {
    auto out = nlohmann::ordered_json::array();
    for (const Masked& m : masked) {
      auto guesses = nlohmann::ordered_json::array();
      for (const Guess& g : m.guesses)
        guesses.push_back({{"token", tokenizer.token(g.token)},
                           {"id", g.token},
                           {"probability", g.probability},
                           {"text", filled(tokenizer, text, m.position, g.token)}});
      out.push_back({{"position", m.position}, {"guesses", guesses}});
    }
    fmt::print("{}\n", json_text(out));
  }

  static void
  print_table(const Tokenizer& tokenizer, const Encoding& text, const std::vector<Masked>& masked) {
    for (const Masked& m : masked) {
      Table table({"token", "probability %", "text"});
      for (const Guess& g : m.guesses)
        table.add({std::string(tokenizer.token(g.token)),
                   fmt::format("{:.2f}", 100 * g.probability),
                   filled(tokenizer, text, m.position, g.token)});
      fmt::print("{}", table.text());
    }
  }

  std::string model_, text_, executor_ = "native";
  int top_ = 5;
};

} // namespace

Command& fill_mask_command() {
  static FillMask command;
  return command;
}

} // namespace octet::cli

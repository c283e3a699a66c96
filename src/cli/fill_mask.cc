// SPDX-License-Identifier: Apache-2.0
// octet fill-mask: what a language model puts in the place of each [MASK], with probabilities.
#include "cli/command.h"
#include "cli/masked_guesses.h"
#include "cli/models.h"
#include "cli/options.h"
#include "core/json.h"
#include "report/table.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "octet/model_folder.h"

namespace octet::cli {
namespace {

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
    Tokenizer tokenizer = OCTET_TRY(Tokenizer::load(OCTET_TRY(companion_folder(model_))));
    const Graph graph = OCTET_TRY(open_model(model_, common));
    const MaskFiller filler =
        OCTET_TRY_WITH(MaskFiller::create(graph, std::move(tokenizer)), model_);
    const std::unique_ptr<Executor> executor = OCTET_TRY(make_executor(graph, executor_, common));
    const MaskedText masked = OCTET_TRY_WITH(filler.fill(*executor, text_, top_), model_);
    common.json ? print_json(filler, masked) : print_table(filler, masked);
    return Answer::kDone;
  }

 private:
  static void print_json(const MaskFiller& filler, const MaskedText& masked) {
    auto out = nlohmann::ordered_json::array();
    for (const Masked& m : masked.masks) {
      auto guesses = nlohmann::ordered_json::array();
      for (const Guess& g : m.guesses)
        guesses.push_back({{"token", filler.tokenizer().token(g.token)},
                           {"id", g.token},
                           {"probability", g.probability},
                           {"text", filler.filled(masked.text, m.position, g.token)}});
      out.push_back({{"position", m.position}, {"guesses", guesses}});
    }
    fmt::print("{}\n", json_text(out));
  }

  static void print_table(const MaskFiller& filler, const MaskedText& masked) {
    for (const Masked& m : masked.masks) {
      Table table({"token", "probability %", "text"});
      for (const Guess& g : m.guesses)
        table.add({std::string(filler.tokenizer().token(g.token)),
                   fmt::format("{:.2f}", 100 * g.probability),
                   filler.filled(masked.text, m.position, g.token)});
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

// SPDX-License-Identifier: Apache-2.0
#include "cli/evaluate_lm.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "cli/terminal.h"
#include "core/format.h"
#include "core/json.h"
#include <nlohmann/json.hpp>

#include "octet/metrics.h"

namespace octet::cli {
namespace {

using Clock = std::chrono::steady_clock;

const Tensor* named(const std::vector<std::pair<std::string, Tensor>>& list,
                    std::string_view name) {
  for (const auto& [key, tensor] : list)
    if (key == name) return &tensor;
  return nullptr;
}

/// The output of a name, or null.
const Tensor*
output(const Graph& graph, const std::vector<Tensor>& outputs, std::string_view name) {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (graph.value(graph.outputs()[i]).name == name) return &outputs[i];
  return nullptr;
}

Status
add(const Graph& graph, const Batch& batch, const std::vector<Tensor>& outputs, LmEvaluation& out) {
  const Tensor* logits = output(graph, outputs, "mlm_logits");
  const Tensor* labels = named(batch.targets, "mlm_labels");
  if (logits == nullptr || labels == nullptr)
    return error("masked tokens want an output mlm_logits and a target mlm_labels");
  OCTET_TRY(out.masked.add(*logits, *labels));
  const Tensor* next = output(graph, outputs, "nsp_logits");
  const Tensor* follows = named(batch.targets, "nsp_labels");
  if (next == nullptr || follows == nullptr) return ok_status();
  const std::vector<int64_t> best = OCTET_TRY(top1(*next));
  const std::vector<int64_t> want = OCTET_TRY(follows->to_ints());
  if (best.size() != want.size())
    return error("{} rows of nsp_logits for {} labels", best.size(), want.size());
  out.next.predictions.insert(out.next.predictions.end(), best.begin(), best.end());
  out.next.labels.insert(out.next.labels.end(), want.begin(), want.end());
  return ok_status();
}

nlohmann::ordered_json json_of(const std::optional<PairedTest>& test) {
  return test ? paired_json(*test) : nlohmann::ordered_json(nullptr);
}

void add_pair(EvaluationTable& table,
              const LmEvaluation& e,
              const char* what,
              const std::optional<PairedTest>& test) {
  if (!test) return;
  table.rows.push_back({e.model, e.executor, what});
  for (std::string& cell : paired_cells(*test))
    table.rows.back().push_back(std::move(cell));
}

std::string range_text(const std::pair<double, double>& interval) {
  return fmt::format("{:.4f} .. {:.4f}", interval.first, interval.second);
}

} // namespace

Result<LmEvaluation> evaluate_language_model(const Graph& graph,
                                             Executor& executor,
                                             const Dataset& data,
                                             const EvalOptions& options) {
  LmEvaluation out;
  out.samples = options.limit > 0 ? std::min(options.limit, data.size()) : data.size();
  if (out.samples < 1) return error("{}: holds no examples", data.description());
  ProgressLine progress("evaluate", "rows");
  const Interruptible interruptible;
  Clock::duration busy{};
  int64_t tokens = 0;
  for (int64_t begin = 0; begin < out.samples; begin += options.batch) {
    OCTET_TRY(interruptible.check());
    std::vector<int64_t> indices(static_cast<size_t>(std::min(options.batch, out.samples - begin)));
    std::iota(indices.begin(), indices.end(), begin);
    const Batch batch = OCTET_TRY(data.batch(indices));
    const std::vector<Tensor> inputs = OCTET_TRY(bind_inputs(graph, batch));
    const auto start = Clock::now();
    const std::vector<Tensor> outputs = OCTET_TRY(executor.run(inputs));
    busy += Clock::now() - start;
    if (const Tensor* ids = named(batch.inputs, "input_ids")) tokens += ids->count();
    OCTET_TRY(add(graph, batch, outputs, out));
    progress.update(begin + static_cast<int64_t>(indices.size()), out.samples);
  }
  out.tokens_per_second = static_cast<double>(tokens) / std::chrono::duration<double>(busy).count();
  return out;
}

Status compare_with_first(std::vector<LmEvaluation>& results) {
  const LmEvaluation& first = results.front();
  for (LmEvaluation& e : results) {
    // Models with other vocabularies see other tokens of the same texts.
    if (e.masked.labels() == first.masked.labels())
      e.masked_against_first =
          OCTET_TRY(mcnemar(e.masked.labels(), first.masked.predictions(), e.masked.predictions()));
    if (!e.next.labels.empty() && e.next.labels == first.next.labels)
      e.next_against_first =
          OCTET_TRY(mcnemar(e.next.labels, first.next.predictions, e.next.predictions));
  }
  return ok_status();
}

void print_json(const std::vector<LmEvaluation>& results) {
  auto out = nlohmann::ordered_json::array();
  for (const LmEvaluation& e : results) {
    const auto [low, high] = e.masked.top1_interval();
    const auto top5 = e.masked.top5_interval();
    const auto loss = e.masked.loss_interval();
    nlohmann::ordered_json item = {{"model", e.model},
                                   {"executor", e.executor},
                                   {"samples", e.samples},
                                   {"masked_tokens", e.masked.count()},
                                   {"top1", e.masked.top1()},
                                   {"top1_interval", {low, high}},
                                   {"top5", e.masked.top5()},
                                   {"top5_interval", {top5.first, top5.second}},
                                   {"loss", e.masked.loss()},
                                   {"loss_interval", {loss.first, loss.second}},
                                   {"perplexity", e.masked.perplexity()},
                                   {"unigram_top1", e.masked.unigram_top1()},
                                   {"unigram_entropy", e.masked.unigram_entropy()}};
    item["against_first"] = json_of(e.masked_against_first);
    if (!e.next.labels.empty()) {
      const auto interval = e.next.interval();
      item["next_sentence_accuracy"] = e.next.accuracy();
      item["next_sentence_interval"] = {interval.first, interval.second};
      item["next_sentence_against_first"] = json_of(e.next_against_first);
    }
    item["size_bytes"] = e.size_bytes;
    item["tokens_per_second"] = e.tokens_per_second;
    out.push_back(std::move(item));
  }
  fmt::print("{}\n", json_text(out));
}

EvaluationTable masked_table(const std::vector<LmEvaluation>& results) {
  EvaluationTable out;
  out.header = {"model",         "executor", "top-1 %",       "95 % interval", "top-5 %",
                "95 % interval", "loss",     "95 % interval", "perplexity"};
  for (const LmEvaluation& e : results)
    out.rows.push_back(
        {e.model, e.executor, fmt::format("{:.2f}", 100 * e.masked.top1()),
         percent_range(e.masked.top1_interval()), fmt::format("{:.2f}", 100 * e.masked.top5()),
         percent_range(e.masked.top5_interval()), fmt::format("{:.4f}", e.masked.loss()),
         range_text(e.masked.loss_interval()), fmt::format("{:.2f}", e.masked.perplexity())});
  const MaskedTokens& m = results.front().masked;
  out.legend = fmt::format("{} masked tokens; knowing only how often each token comes: top-1 "
                           "{:.2f} %, loss {:.4f} (the entropy of these tokens)",
                           m.count(), 100 * m.unigram_top1(), m.unigram_entropy());
  return out;
}

EvaluationTable next_table(const std::vector<LmEvaluation>& results) {
  EvaluationTable out;
  out.header = {"model", "executor", "NSP %", "95 % interval", "size", "tokens/s"};
  for (const LmEvaluation& e : results) {
    const bool has_next = !e.next.labels.empty();
    out.rows.push_back({e.model, e.executor,
                        has_next ? fmt::format("{:.2f}", 100 * e.next.accuracy()) : "-",
                        has_next ? percent_range(e.next.interval()) : "-", bytes_text(e.size_bytes),
                        fmt::format("{:.0f}", e.tokens_per_second)});
  }
  out.legend = "NSP: of how many pairs it said rightly whether the second follows the first; "
               "tokens/s: of rows as they are run, padding included";
  return out;
}

EvaluationTable pairs_table(const std::vector<LmEvaluation>& results) {
  EvaluationTable out;
  out.header = {"model", "executor", "of"};
  for (std::string& title : paired_header())
    out.header.push_back(std::move(title));
  for (size_t i = 1; i < results.size(); ++i) {
    add_pair(out, results[i], "masked tokens", results[i].masked_against_first);
    add_pair(out, results[i], "next sentences", results[i].next_against_first);
  }
  out.legend = out.rows.empty()
                   ? "none saw the same tokens as the first: nothing to compare in pairs"
                   : kPairedLegend;
  return out;
}

void print_table(const std::vector<LmEvaluation>& results, const Dataset& data) {
  fmt::print("{}; judged on {}\n{}\n{}", data.description(), results.front().samples,
             table_text(masked_table(results)), table_text(next_table(results)));
  if (results.size() > 1) fmt::print("\n{}", table_text(pairs_table(results)));
}

} // namespace octet::cli

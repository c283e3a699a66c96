// SPDX-License-Identifier: Apache-2.0
#include "cli/evaluate_lm.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "cli/terminal.h"
#include "core/format.h"
#include "report/table.h"
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
  for (size_t i = 0; i < std::min(best.size(), want.size()); ++i)
    out.next_sentence_hits += best[i] == want[i] ? 1 : 0;
  out.next_sentences += static_cast<int64_t>(want.size());
  return ok_status();
}

double next_sentence_share(const LmEvaluation& e) {
  return e.next_sentences == 0
             ? 0
             : static_cast<double>(e.next_sentence_hits) / static_cast<double>(e.next_sentences);
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
  Clock::duration busy{};
  int64_t tokens = 0;
  for (int64_t begin = 0; begin < out.samples; begin += options.batch) {
    if (interrupted().cancelled()) return Error("stopped by the user", ErrorCode::kCancelled);
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

void print_json(const std::vector<LmEvaluation>& results) {
  auto out = nlohmann::ordered_json::array();
  for (const LmEvaluation& e : results) {
    const auto [low, high] = e.masked.top1_interval();
    nlohmann::ordered_json item = {{"model", e.model},
                                   {"executor", e.executor},
                                   {"samples", e.samples},
                                   {"masked_tokens", e.masked.count()},
                                   {"top1", e.masked.top1()},
                                   {"top1_interval", {low, high}},
                                   {"top5", e.masked.top5()},
                                   {"loss", e.masked.loss()},
                                   {"perplexity", e.masked.perplexity()},
                                   {"unigram_top1", e.masked.unigram_top1()},
                                   {"unigram_entropy", e.masked.unigram_entropy()}};
    if (e.next_sentences > 0) {
      item["next_sentence_accuracy"] = next_sentence_share(e);
      const auto interval = wilson_interval(e.next_sentence_hits, e.next_sentences);
      item["next_sentence_interval"] = {interval.first, interval.second};
    }
    item["size_bytes"] = e.size_bytes;
    item["tokens_per_second"] = e.tokens_per_second;
    out.push_back(std::move(item));
  }
  fmt::print("{}\n", out.dump(2));
}

void print_table(const std::vector<LmEvaluation>& results, const Dataset& data) {
  Table table({"model", "executor", "top-1 %", "95 % interval", "top-5 %", "loss", "perplexity",
               "NSP %", "size", "tokens/s"});
  for (const LmEvaluation& e : results) {
    const auto [low, high] = e.masked.top1_interval();
    table.add({e.model, e.executor, fmt::format("{:.2f}", 100 * e.masked.top1()),
               fmt::format("{:.2f} .. {:.2f}", 100 * low, 100 * high),
               fmt::format("{:.2f}", 100 * e.masked.top5()), fmt::format("{:.4f}", e.masked.loss()),
               fmt::format("{:.2f}", e.masked.perplexity()),
               e.next_sentences == 0 ? "-" : fmt::format("{:.2f}", 100 * next_sentence_share(e)),
               bytes_text(e.size_bytes), fmt::format("{:.0f}", e.tokens_per_second)});
  }
  const MaskedTokens& m = results.front().masked;
  fmt::print("{}, {} rows, {} masked tokens\n{}"
             "knowing only how often each token comes: top-1 {:.2f} %, loss {:.4f} (the entropy of "
             "these tokens)\n",
             data.description(), results.front().samples, m.count(), table.text(),
             100 * m.unigram_top1(), m.unigram_entropy());
}

} // namespace octet::cli

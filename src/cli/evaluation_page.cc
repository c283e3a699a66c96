// SPDX-License-Identifier: Apache-2.0
#include "cli/evaluation_page.h"

#include <algorithm>
#include <filesystem>

#include "cli/evaluation_table.h"
#include "cli/terminal.h"
#include "report/html.h"
#include "report/reliability.h"
#include <fmt/format.h>

namespace octet::cli {
namespace {

using Bars = std::vector<HtmlPage::Bar>;

/// The name that a chart has room for: the last part of the path, however a folder is written, and
/// the one before it where another model has the same.
template <class Scores>
std::string chart_label(const Scores& e, const std::vector<Scores>& all) {
  const auto path_of = [](const std::string& model) {
    return std::filesystem::path(model.substr(0, model.find_last_not_of('/') + 1));
  };
  const std::filesystem::path path = path_of(e.model);
  std::string name = path.filename().string();
  for (const Scores& other : all) {
    const std::filesystem::path another = path_of(other.model);
    if (another == path || another.filename() != path.filename()) continue;
    name = (path.parent_path().filename() / path.filename()).string();
  }
  return e.executor == "native" ? name : name + " " + e.executor;
}

HtmlPage::Bar
share_bar(std::string label, double share, const std::pair<double, double>& interval) {
  return {std::move(label), 100 * share, fmt::format("{:.2f} %", 100 * share), 100 * interval.first,
          100 * interval.second};
}

template <class Scores>
HtmlPage::Bar size_bar(std::string label, const Scores& e) {
  return {std::move(label), static_cast<double>(e.size_bytes), bytes_text(e.size_bytes), 0, 0};
}

void add_table(HtmlPage& html, const EvaluationTable& table) {
  html.table(table.header, table.rows);
  html.paragraph(table.legend);
}

void add_shares(HtmlPage& html, const Bars& bars) {
  html.points("per cent, with 95 % intervals", bars);
}

std::string name_of(const std::vector<std::string>& classes, int64_t c) {
  const auto i = static_cast<size_t>(c);
  return i < classes.size() ? classes[i] : std::to_string(c);
}

/// Which classes are taken for which; of many classes the pairs alone that are confused most.
void add_confusion(HtmlPage& html, const Evaluation& e, const std::vector<std::string>& classes) {
  constexpr int64_t kMostClasses = 20;
  constexpr size_t kMostPairs = 15;
  int64_t count = std::ssize(classes);
  for (const std::vector<int64_t>* each : {&e.labels, &e.predictions})
    for (const int64_t c : *each)
      count = std::max(count, c + 1);
  const Result<ConfusionMatrix> counts = ConfusionMatrix::of(e.labels, e.predictions, count);
  if (!counts.ok()) return; // evaluate() counted them already
  if (count <= kMostClasses) {
    std::vector<std::string> names;
    std::vector<std::vector<int64_t>> rows;
    for (int64_t i = 0; i < count; ++i) {
      names.push_back(name_of(classes, i));
      rows.emplace_back();
      for (int64_t j = 0; j < count; ++j)
        rows.back().push_back(counts->at(i, j));
    }
    html.matrix("rows: what an example is; columns: what it was taken for", names, rows);
    return;
  }
  struct Pair {
    int64_t count, label, said;
  };
  std::vector<Pair> pairs;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < count; ++j)
      if (i != j && counts->at(i, j) > 0) pairs.push_back({counts->at(i, j), i, j});
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return a.count > b.count; });
  pairs.resize(std::min(pairs.size(), kMostPairs));
  std::vector<std::vector<std::string>> rows;
  rows.reserve(pairs.size());
  for (const Pair& p : pairs)
    rows.push_back({name_of(classes, p.label), name_of(classes, p.said), std::to_string(p.count)});
  html.text_table({"is", "taken for", "examples"}, rows);
}

void add_reliability(HtmlPage& html, const Evaluation& e) {
  if (e.probabilities.empty()) return;
  const Reliability r = reliability(e.labels, e.predictions, e.probabilities);
  html.picture(
      svg_of(r, "how often the model is right, by the probability that it gives"),
      fmt::format("expected calibration error {:.2f} %; bars: how often it is right where its "
                  "probability lies there, points: the mean probability there",
                  100 * r.expected_error));
}

/// Examples that another model than the first predicts otherwise, those that became wrong first.
void add_changed(HtmlPage& html,
                 const Evaluation& first,
                 const Evaluation& e,
                 const Dataset& data,
                 const std::vector<std::string>& classes) {
  constexpr size_t kMostExamples = 50;
  std::vector<size_t> changed;
  for (size_t i = 0; i < e.predictions.size(); ++i)
    if (e.predictions[i] != first.predictions[i]) changed.push_back(i);
  const auto rank = [&](size_t i) {
    return first.predictions[i] == first.labels[i] ? 0 : e.predictions[i] == e.labels[i] ? 1 : 2;
  };
  std::stable_sort(changed.begin(), changed.end(),
                   [&](size_t a, size_t b) { return rank(a) < rank(b); });
  static constexpr std::string_view kBecame[] = {"wrong", "right", "wrong otherwise"};
  std::vector<std::vector<std::string>> rows;
  for (const size_t i : changed) {
    if (rows.size() == kMostExamples) break;
    const auto at = static_cast<int64_t>(i);
    const std::string file = data.file(at);
    rows.push_back({file.empty() ? std::to_string(data.position(at)) : file,
                    name_of(classes, e.labels[i]), name_of(classes, first.predictions[i]),
                    name_of(classes, e.predictions[i]), std::string(kBecame[rank(i)])});
  }
  html.paragraph(fmt::format(
      "{}: {} of {} predictions are others than the first model's{}.", e.model, changed.size(),
      e.predictions.size(),
      rows.size() < changed.size() ? fmt::format("; the first {} of them", rows.size()) : ""));
  if (!rows.empty())
    html.text_table({"example", "is", "first model", "this model", "became"}, rows);
}

} // namespace

std::string evaluation_page(const std::vector<Evaluation>& results,
                            const Dataset& data,
                            const std::vector<std::string>& classes,
                            const std::string& origin) {
  HtmlPage html("octet: models compared");
  html.origin(origin);
  html.paragraph(fmt::format("{}, {} examples.", data.description(), results.front().samples));
  add_table(html, scores_table(results));
  html.heading("Classes");
  add_table(html, classes_table(results));
  if (results.size() > 1) {
    html.heading("Each model against the first");
    add_table(html, pairs_table(results));
  }
  Bars accuracy, size, latency;
  for (const Evaluation& e : results) {
    const std::string label = chart_label(e, results);
    accuracy.push_back(share_bar(label, e.accuracy, e.interval));
    size.push_back(size_bar(label, e));
    if (e.latency_ms_median > 0)
      latency.push_back({label, e.latency_ms_median, fmt::format("{:.4g} ms", e.latency_ms_median),
                         e.latency_ms_median, e.latency_ms_p99});
  }
  html.heading("Accuracy");
  add_shares(html, accuracy);
  html.heading("Size");
  html.bars("bytes of the file", size);
  if (!latency.empty()) {
    html.heading("Latency");
    html.bars("median of one example a run in ms; the line goes to what 99 % of them stay below",
              latency);
  }
  for (const Evaluation& e : results) {
    html.heading("What " + chart_label(e, results) + " takes for what");
    add_confusion(html, e, classes);
    add_reliability(html, e);
  }
  if (results.size() > 1) html.heading("Examples that changed");
  for (size_t i = 1; i < results.size(); ++i)
    add_changed(html, results.front(), results[i], data, classes);
  return html.text();
}

std::string evaluation_page(const std::vector<LmEvaluation>& results,
                            const Dataset& data,
                            const std::vector<std::string>&,
                            const std::string& origin) {
  HtmlPage html("octet: language models compared");
  html.origin(origin);
  html.paragraph(fmt::format("{}; judged on {}.", data.description(), results.front().samples));
  html.heading("Masked tokens");
  add_table(html, masked_table(results));
  html.heading("Next sentences, size and speed");
  add_table(html, next_table(results));
  if (results.size() > 1) {
    html.heading("Each model against the first");
    add_table(html, pairs_table(results));
  }
  const MaskedTokens& first = results.front().masked;
  const char* const baseline = "token frequencies";
  Bars top1 = {share_bar(baseline, first.unigram_top1(), {0, 0})}, top5, next, size, speed;
  Bars loss = {
      {baseline, first.unigram_entropy(), fmt::format("{:.4f}", first.unigram_entropy()), 0, 0}};
  for (const LmEvaluation& e : results) {
    const std::string label = chart_label(e, results);
    const auto [low, high] = e.masked.loss_interval();
    top1.push_back(share_bar(label, e.masked.top1(), e.masked.top1_interval()));
    top5.push_back(share_bar(label, e.masked.top5(), e.masked.top5_interval()));
    loss.push_back({label, e.masked.loss(), fmt::format("{:.4f}", e.masked.loss()), low, high});
    if (!e.next.labels.empty())
      next.push_back(share_bar(label, e.next.accuracy(), e.next.interval()));
    size.push_back(size_bar(label, e));
    speed.push_back({label, e.tokens_per_second, fmt::format("{:.0f}", e.tokens_per_second), 0, 0});
  }
  html.heading("Masked tokens: the first guess is right");
  html.bars("per cent, with 95 % intervals; above, what knowing only how often each token comes "
            "would reach",
            top1);
  html.heading("Masked tokens: one of the first five guesses is right");
  add_shares(html, top5);
  html.heading("Loss");
  html.bars("mean of -log p of the hidden token in nats, with 95 % intervals; lower is better; "
            "above, the entropy of these tokens",
            loss);
  if (!next.empty()) {
    html.heading("Next sentences");
    add_shares(html, next);
  }
  html.heading("Size");
  html.bars("bytes of the file", size);
  html.heading("Speed");
  html.bars("tokens a second", speed);
  return html.text();
}

} // namespace octet::cli

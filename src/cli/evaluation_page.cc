// SPDX-License-Identifier: Apache-2.0
#include "cli/evaluation_page.h"

#include <algorithm>
#include <filesystem>

#include "cli/evaluation_table.h"
#include "cli/terminal.h"
#include "report/html.h"
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

/// Shares that lie close together: the axis starts a point below the lowest interval.
void add_shares(HtmlPage& html, const Bars& bars) {
  double lowest = 100;
  for (const HtmlPage::Bar& bar : bars)
    lowest = std::min(lowest, bar.low);
  const double from = std::max(0.0, lowest - 1);
  html.bars(fmt::format("per cent, with 95 % intervals; the axis starts at {:.1f}", from), bars,
            from);
}

} // namespace

std::string evaluation_page(const std::vector<Evaluation>& results, const Dataset& data) {
  HtmlPage html("octet: models compared");
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
      latency.push_back(
          {label, e.latency_ms_median, fmt::format("{:.1f} µs", 1e3 * e.latency_ms_median), 0, 0});
  }
  html.heading("Accuracy");
  add_shares(html, accuracy);
  html.heading("Size");
  html.bars("bytes of the file", size);
  if (!latency.empty()) {
    html.heading("Latency");
    html.bars("median of one example a run", latency);
  }
  return html.text();
}

std::string evaluation_page(const std::vector<LmEvaluation>& results, const Dataset& data) {
  HtmlPage html("octet: language models compared");
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

// SPDX-License-Identifier: Apache-2.0
#include "cli/training_page.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "cli/terminal.h"
#include "report/html.h"
#include "report/line_chart.h"
#include <fmt/format.h>

namespace octet::cli {
namespace {

/// Labels of an axis that has room for some twenty.
std::vector<std::string> thinned(const std::vector<int64_t>& numbers) {
  constexpr size_t kMostLabels = 20;
  const size_t each = numbers.size() / kMostLabels + 1;
  std::vector<std::string> out;
  for (size_t i = 0; i < numbers.size(); ++i)
    out.push_back(i % each == 0 ? std::to_string(numbers[i]) : "");
  return out;
}

template <class Record>
struct Curve {
  std::string label;
  std::function<double(const Record&)> of;
};

/// One line for each curve over records whose numbers are all finite; nothing for fewer than two.
template <class Record>
void add_curves(HtmlPage& html,
                const std::vector<Record>& records,
                int64_t Record::*at,
                const std::string& over,
                const std::string& title,
                const std::string& unit,
                const std::vector<Curve<Record>>& curves) {
  LineChart chart{title, over, unit, {}, {}};
  std::vector<int64_t> places;
  for (const Curve<Record>& curve : curves)
    chart.lines.push_back({curve.label, {}});
  for (const Record& r : records) {
    if (!std::all_of(curves.begin(), curves.end(),
                     [&](const auto& curve) { return std::isfinite(curve.of(r)); }))
      continue;
    places.push_back(r.*at);
    for (size_t c = 0; c < curves.size(); ++c)
      chart.lines[c].values.push_back(curves[c].of(r));
  }
  if (places.size() < 2) return;
  chart.ticks = thinned(places);
  html.picture(svg_of(chart), title);
}

bool has_accuracy(const std::vector<TermRecord>& terms) {
  return !terms.empty() && terms.front().metric == TermMetric::kAccuracy &&
         terms.front().labels > 0;
}

void add_epochs(HtmlPage& html, const TrainReport& r) {
  using Curves = std::vector<Curve<EpochRecord>>;
  const bool validated = std::any_of(r.history.begin(), r.history.end(), [](const EpochRecord& e) {
    return e.validation_loss != 0 || e.validation_accuracy != 0;
  });
  const bool accuracy = !r.history.empty() && has_accuracy(r.history.front().terms);
  Curves losses = {{"training", [](const EpochRecord& e) { return e.train_loss; }}};
  Curves shares = {{"training", [](const EpochRecord& e) { return 100 * e.train_accuracy; }}};
  if (validated) {
    losses.push_back({"held out", [](const EpochRecord& e) { return e.validation_loss; }});
    shares.push_back(
        {"held out", [](const EpochRecord& e) { return 100 * e.validation_accuracy; }});
  }
  add_curves(html, r.history, &EpochRecord::epoch, "epoch", "Loss", "mean of an epoch", losses);
  if (accuracy) add_curves(html, r.history, &EpochRecord::epoch, "epoch", "Accuracy", "%", shares);
  std::vector<std::string> header = {"epoch", "loss", "rate", "time"};
  if (accuracy) header.insert(header.begin() + 2, "accuracy %");
  if (validated) header.insert(header.end() - 2, "held out: loss");
  if (validated && accuracy) header.insert(header.end() - 2, "held out: accuracy %");
  std::vector<std::vector<std::string>> rows;
  for (const EpochRecord& e : r.history) {
    std::vector<std::string> row = {std::to_string(e.epoch), fmt::format("{:.4f}", e.train_loss)};
    if (accuracy) row.push_back(fmt::format("{:.2f}", 100 * e.train_accuracy));
    if (validated) row.push_back(fmt::format("{:.4f}", e.validation_loss));
    if (validated && accuracy) row.push_back(fmt::format("{:.2f}", 100 * e.validation_accuracy));
    row.push_back(fmt::format("{:.3g}", e.lr));
    row.push_back(duration_text(e.seconds));
    rows.push_back(std::move(row));
  }
  html.table(header, rows);
}

void add_evaluations(HtmlPage& html, const TrainReport& r) {
  if (r.evaluations.size() <= r.history.size()) return; // at the ends of epochs, which are above
  html.heading("Between the ends of epochs, on the part that is held out");
  add_curves<EvaluationRecord>(html, r.evaluations, &EvaluationRecord::step, "step", "Loss by step",
                               "of the part held out",
                               {{"held out", [](const EvaluationRecord& e) { return e.loss; }}});
  if (has_accuracy(r.evaluations.front().terms))
    add_curves<EvaluationRecord>(
        html, r.evaluations, &EvaluationRecord::step, "step", "Accuracy by step", "%",
        {{"held out", [](const EvaluationRecord& e) { return 100 * e.accuracy; }}});
}

} // namespace

std::string training_page(const std::string& model,
                          const TrainReport& r,
                          const std::vector<RunSetting>& settings,
                          const std::string& origin) {
  HtmlPage html("octet: training of " + model);
  html.origin(origin);
  html.paragraph(fmt::format(
      "{} tensors trained in {} steps, {}{}{}{}.", r.parameters.size(), r.steps,
      duration_text(r.seconds), r.stopped_early ? ", stopped early" : "",
      r.diverged ? ", diverged" : "",
      r.best_step > 0 ? fmt::format("; the model is that after step {}, the best one", r.best_step)
                      : ""));
  if (!r.findings.empty()) {
    html.heading("To look at");
    std::vector<std::vector<std::string>> rows;
    for (const TrainFinding& f : r.findings)
      rows.push_back({std::to_string(f.epoch), f.message});
    html.text_table({"epoch", "what was seen"}, rows);
  }
  html.heading("Epochs");
  add_epochs(html, r);
  add_evaluations(html, r);
  html.heading("Recipe");
  std::vector<std::vector<std::string>> rows;
  for (const RunSetting& s : settings)
    if (!s.value.empty()) rows.push_back({s.name, s.value});
  html.text_table({"setting", "value"}, rows);
  return html.text();
}

} // namespace octet::cli

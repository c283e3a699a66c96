// SPDX-License-Identifier: Apache-2.0
#include "cli/optimize_report.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "core/json.h"
#include "quant/held_back.h"
#include "quant/search/trials.h"
#include "report/html.h"
#include "report/scatter_chart.h"
#include "report/table.h"
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

using Json = nlohmann::ordered_json;

bool keeps_float(const OptimizeSummary& s) {
  return !s.result.plan.has_value();
}

Json or_null(bool known, double value) {
  return known ? Json(value) : Json(nullptr);
}

double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

double search_share(const OptimizeSummary& s, int64_t right) {
  return share(right, s.data.search->size());
}

/// On the held-out examples, or where none was looked at on those of the search.
double accuracy_float(const OptimizeSummary& s) {
  const auto& h = s.result.held_out;
  return h ? share(h->right_float, h->examples) : search_share(s, s.result.float_network.right);
}
double accuracy(const OptimizeSummary& s) {
  const auto& h = s.result.held_out;
  return h ? share(h->right, h->examples) : search_share(s, s.result.measured.right);
}

/// What the held-out examples say of the bar.
std::string verdict(const OptimizeSummary& s) {
  if (keeps_float(s)) return "float";
  const HeldOut& h = *s.result.held_out;
  return s.bar.max_drop && h.drop_high > *s.bar.max_drop ? "not contradicted" : "shown";
}

Json trial_json(const OptimizeSummary& s, const SearchTrial& t) {
  const bool measured = s.costs == CostBy::kMeasured;
  return {{"recipe", t.candidate.recipe},
          {"float", t.candidate.in_float},
          {"choices", t.candidate.choices},
          {"accuracy", or_null(s.data.labelled, search_share(s, t.measured.right))},
          {"sqnr_db", decibels(t.measured.noise)},
          {"latency_ms", or_null(measured, t.measured.ms)},
          {"work", t.measured.work},
          {"bytes", t.measured.bytes},
          {"holds", t.holds},
          {"pareto", t.pareto},
          {"chosen", t.candidate == s.result.chosen}};
}

double work_percent(const OptimizeSummary& s, const Measured& m) {
  const double all = s.result.float_network.work;
  return all > 0 ? 100 * m.work / all : 0;
}

double kilobytes(const Measured& m) {
  return static_cast<double>(m.bytes) / 1000;
}

/// What the goal counts.
double cost_of(const OptimizeSummary& s, const Measured& m) {
  if (s.goal == Goal::kSize) return kilobytes(m);
  return s.costs == CostBy::kMeasured ? m.ms : work_percent(s, m);
}

std::string cost_text(const OptimizeSummary& s, const Measured& m) {
  if (s.costs == CostBy::kMeasured) return fmt::format("{:.4f}", m.ms);
  return fmt::format("{:.1f}", work_percent(s, m));
}
std::string cost_title(const OptimizeSummary& s) {
  return s.costs == CostBy::kMeasured ? "ms" : "% of the work";
}

std::vector<std::string> trial_header(const OptimizeSummary& s) {
  std::vector<std::string> out = {"network", cost_title(s), "kB"};
  if (s.data.labelled) out.insert(out.end(), {"accuracy %", "points lost"});
  out.insert(out.end(), {"SQNR dB", "bar", ""});
  return out;
}

std::vector<std::string> trial_row(const OptimizeSummary& s, const SearchTrial& t) {
  std::vector<std::string> out = {in_words(t.candidate), cost_text(s, t.measured),
                                  fmt::format("{:.1f}", kilobytes(t.measured))};
  if (s.data.labelled) {
    const double drop =
        accuracy_points(s.result.float_network.right, t.measured.right, s.data.search->size());
    out.push_back(fmt::format("{:.2f}", 100 * search_share(s, t.measured.right)));
    out.push_back(fmt::format("{:.2f}", drop));
  }
  out.push_back(fmt::format("{:.1f}", decibels(t.measured.noise)));
  out.emplace_back(t.holds ? "holds" : "fails");
  out.emplace_back(t.candidate == s.result.chosen ? "chosen" : "");
  return out;
}

std::vector<const SearchTrial*> pareto_front(const OptimizeSummary& s) {
  std::vector<const SearchTrial*> out;
  for (const SearchTrial& t : s.result.trials)
    if (t.pareto || t.candidate == s.result.chosen) out.push_back(&t);
  std::stable_sort(out.begin(), out.end(), [&](const SearchTrial* a, const SearchTrial* b) {
    return cost_of(s, a->measured) < cost_of(s, b->measured);
  });
  return out;
}

std::vector<std::string> layer_row(const LayerFinding& layer) {
  return {layer.node, layer.op, layer.format, layer.why};
}

std::string cost_sentence(const OptimizeSummary& s) {
  const Measured &now = s.result.measured, &before = s.result.float_network;
  const std::string size =
      fmt::format("{:.1f} kB of numbers, float {:.1f}; ", kilobytes(now), kilobytes(before));
  if (s.costs == CostBy::kModel)
    return size + fmt::format("{} % of the float network's work by the cost model of {}",
                              cost_text(s, now), s.target);
  return size + fmt::format("{:.4f} ms a run, float {:.4f} ({:.2f} times as fast; {})", now.ms,
                            before.ms, now.ms > 0 ? before.ms / now.ms : 0, s.machine);
}

/// What is known of the loss, and how well.
std::string loss_sentence(const OptimizeSummary& s) {
  const HeldOut& h = *s.result.held_out;
  if (!s.data.labelled)
    return fmt::format("SQNR {:.1f} dB on {} held-out examples", decibels(h.noise), h.examples);
  std::string out = fmt::format("accuracy {:.2f} %, float {:.2f} %: {:.2f} points lost, 95 % "
                                "interval {:.2f} .. {:.2f}, on {} "
                                "held-out examples",
                                100 * accuracy(s), 100 * accuracy_float(s), h.drop, h.drop_low,
                                h.drop_high, h.examples);
  if (verdict(s) == "not contradicted")
    out += fmt::format("; these are too few to exclude a loss above {} points", *s.bar.max_drop);
  return out;
}

std::vector<std::string> sentences(const OptimizeSummary& s) {
  std::vector<std::string> out;
  if (keeps_float(s)) {
    out.push_back(fmt::format("{}: the float network is kept: {}", s.output, s.result.why));
  } else {
    out.push_back(fmt::format("{}: {}", s.output, s.result.why));
    out.push_back(loss_sentence(s));
    out.push_back(cost_sentence(s));
  }
  if (s.result.checks > 1)
    out.push_back(
        fmt::format("held-out examples were looked at for {} networks, so that they are a "
                    "little less strict than they look",
                    s.result.checks));
  if (s.result.budget_ended)
    out.emplace_back("the budget ended the search; the same command with a larger one goes on");
  for (const auto& [recipe, why] : s.result.left_out)
    out.push_back(fmt::format("recipe {} was left out: {}", recipe, why));
  return out;
}

std::string data_sentence(const OptimizeSummary& s) {
  return fmt::format("{} examples for ranges ({}), {} for the search and {} held out ({})",
                     s.data.calibration->size(), s.data.training, s.data.search->size(),
                     s.data.held_out->size(), s.data.test);
}

} // namespace

std::string optimize_json(const OptimizeSummary& s) {
  const bool measured = s.costs == CostBy::kMeasured;
  auto pareto = Json::array(), layers = Json::array(), left_out = Json::array();
  for (const SearchTrial& t : s.result.trials)
    pareto.push_back(trial_json(s, t));
  for (const LayerFinding& l : s.result.layers)
    layers.push_back({{"node", l.node},
                      {"op", l.op},
                      {"format", l.format},
                      {"damage", l.damage ? Json(*l.damage) : Json(nullptr)},
                      {"cost", l.cost ? Json(*l.cost) : Json(nullptr)},
                      {"why", l.why}});
  for (const auto& [recipe, why] : s.result.left_out)
    left_out.push_back({{"recipe", recipe}, {"why", why}});
  Json out = {{"accuracy_float", or_null(s.data.labelled, accuracy_float(s))},
              {"accuracy", or_null(s.data.labelled, accuracy(s))},
              {"latency_ms_float", or_null(measured, s.result.float_network.ms)},
              {"latency_ms", or_null(measured, s.result.measured.ms)},
              {"kept", keeps_float(s) ? "float" : "quantized"},
              {"why", s.result.why},
              {"bar", verdict(s)},
              {"recipe", s.result.chosen.recipe},
              {"float", s.result.chosen.in_float},
              {"choices", s.result.chosen.choices},
              {"work_float", s.result.float_network.work},
              {"work", s.result.measured.work},
              {"bytes_float", s.result.float_network.bytes},
              {"bytes", s.result.measured.bytes},
              {"goal", s.goal == Goal::kSize ? "size" : "speed"},
              {"costs", measured ? "measured" : "model"},
              {"target", s.target},
              {"examples",
               {{"calibration", s.data.calibration->size()},
                {"search", s.data.search->size()},
                {"held_out", s.data.held_out->size()}}},
              {"held_out_checks", s.result.checks},
              {"trials", s.result.trials.size()},
              {"resumed", s.resumed},
              {"budget_ended", s.result.budget_ended},
              {"left_out", std::move(left_out)}};
  if (s.result.held_out && !keeps_float(s)) {
    const HeldOut& h = *s.result.held_out;
    out["sqnr_db"] = decibels(h.noise);
    if (s.data.labelled) {
      out["drop"] = h.drop;
      out["drop_interval"] = {h.drop_low, h.drop_high};
      out["p_value"] = h.p_value;
    }
  }
  out["pareto"] = std::move(pareto);
  out["layers"] = std::move(layers);
  return json_text(out) + "\n";
}

std::string optimize_text(const OptimizeSummary& s) {
  std::string out;
  Table front(trial_header(s));
  for (const SearchTrial* t : pareto_front(s))
    front.add(trial_row(s, *t));
  out += front.text() + "\n";
  Table layers({"layer", "operator", "format", "why"});
  for (const LayerFinding& l : s.result.layers)
    if (l.damage || l.format == "float") layers.add(layer_row(l));
  if (!s.result.layers.empty()) out += layers.text() + "\n";
  for (const std::string& sentence : sentences(s))
    out += sentence + "\n";
  return out + data_sentence(s) + "\n";
}

std::string optimize_page(const OptimizeSummary& s, const std::string& origin) {
  HtmlPage page("octet: accuracy and speed");
  page.origin(origin);
  for (const std::string& sentence : sentences(s))
    page.paragraph(sentence);
  page.paragraph(data_sentence(s));
  ScatterChart chart{.title = "networks of the search",
                     .x_label = s.goal == Goal::kSize          ? "kB of numbers"
                                : s.costs == CostBy::kMeasured ? "milliseconds a run"
                                                               : "% of the float network's work",
                     .y_label = s.data.labelled ? "accuracy, %" : "SQNR, dB",
                     .points = {}};
  for (const SearchTrial& t : s.result.trials) {
    const Measured& m = t.measured;
    const bool chosen = t.candidate == s.result.chosen;
    chart.points.push_back(
        {.x = cost_of(s, m),
         .y = s.data.labelled ? 100 * search_share(s, m.right) : decibels(m.noise),
         .label = chosen                          ? "chosen"
                  : t.candidate.recipe == "float" ? "float"
                                                  : "",
         .text = in_words(t.candidate),
         .joined = t.pareto});
  }
  for (ScatterChart::Point& p : chart.points)
    if (!std::isfinite(p.y)) p.y = 0;
  page.heading("Networks");
  page.picture(
      svg_of(chart),
      fmt::format("each network that was measured, on the examples of the search; joined: none is "
                  "both {} and closer",
                  s.goal == Goal::kSize ? "smaller" : "faster"));
  page.heading(s.goal == Goal::kSize ? "None is both smaller and closer"
                                     : "None is both faster and closer");
  std::vector<std::vector<std::string>> rows;
  for (const SearchTrial* t : pareto_front(s))
    rows.push_back(trial_row(s, *t));
  page.table(trial_header(s), rows);
  page.heading("Layers");
  rows.clear();
  for (const LayerFinding& l : s.result.layers)
    rows.push_back(layer_row(l));
  page.text_table({"layer", "operator", "format", "why"}, rows);
  return page.text();
}

} // namespace octet::cli

// SPDX-License-Identifier: Apache-2.0
#include "report/findings_page.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/format.h"
#include "report/html.h"
#include "report/value_histogram.h"

namespace octet {
namespace {

constexpr size_t kMostLayers = 40, kMostHistograms = 24, kMostTensors = 200;

std::string decibel_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.1f}", *value) : std::string("-");
}

/// Counts of the float values over all that is drawn: they and what the codes stand for.
HtmlPage::Histogram histogram_of(const TensorView& view) {
  constexpr size_t kBins = 120;
  constexpr double kMostSteps = 64;
  ValueHistogram bars = value_histogram(view, kBins);
  HtmlPage::Histogram out;
  const Range range = view.grid_range().value_or(Range{});
  out.from = range.lo;
  out.to = range.hi;
  out.low = bars.low;
  out.high = bars.high;
  out.counts = std::move(bars.counts);
  if (view.grid() && view.grid()->per_tensor()) {
    const double scale = view.grid()->scale_at(0);
    if (scale > 0 && (range.hi - range.lo) / scale <= kMostSteps)
      for (double at = range.lo; at <= range.hi + scale / 2; at += scale)
        out.steps.push_back(at);
  }
  return out;
}

std::string caption_of(const TensorView& view) {
  std::string out =
      fmt::format("{}: {:.4g} to {:.4g}", view.value(), view.lowest(), view.highest());
  if (!view.grid()) return out + "; in float";
  const Range range = *view.grid_range();
  out += fmt::format(
      "; codes ({}, {} bits{}) stand for {:.4g} to {:.4g}", name(view.grid()->codes), view.bits(),
      view.grid()->per_tensor() ? "" : fmt::format(", {} scales", view.grid()->count()), range.lo,
      range.hi);
  if (view.grid()->per_tensor()) out += fmt::format(", step {:.3g}", view.grid()->scale_at(0));
  return out + fmt::format("; SQNR {:.1f} dB alone, {:.2f} % saturated",
                           view.sqnr_alone_db().value_or(0), 100 * view.saturated());
}

void add_ranking(HtmlPage& html, const Findings& f) {
  if (f.ranking.empty()) return;
  html.heading("Layers, the worst first");
  html.paragraph(
      fmt::format("Each of {} layers quantized alone, the others in float, over {} examples. Gains "
                  "are those of the outputs, measured on {} examples held back.",
                  f.layers, f.alone_examples, f.held_back));
  std::vector<std::string> header = {"layer", "operator", "outputs, dB"};
  if (f.float_accuracy) header.push_back("accuracy");
  header.insert(header.end(), {"what helps", "how", "gain, dB"});
  std::vector<std::vector<std::string>> rows;
  std::vector<HtmlPage::Bar> bars;
  for (size_t i = 0; i < std::min(f.ranking.size(), kMostLayers); ++i) {
    const LayerFinding& one = f.ranking[i];
    rows.push_back({one.layer.node, one.op, decibel_text(decibels(one.error_alone))});
    if (f.float_accuracy)
      rows.back().push_back(fmt::format("{:.2f} %", 100 * one.accuracy_alone.value_or(0)));
    rows.back().push_back(one.remedy          ? one.remedy->name
                          : one.tried.empty() ? "-"
                                              : "nothing tried does");
    rows.back().push_back(one.remedy ? one.remedy->words : "-");
    rows.back().push_back(one.remedy ? fmt::format("{:+.1f}", one.remedy->gain_db) : "-");
    constexpr size_t kBars = 12, kLabel = 24;
    const std::string& node = one.layer.node;
    if (i < kBars && std::isfinite(one.error_alone))
      bars.push_back({node.size() > kLabel ? "…" + node.substr(node.size() - kLabel) : node,
                      std::sqrt(one.error_alone) * 100,
                      fmt::format("{:.2f} %", std::sqrt(one.error_alone) * 100), 0, 0});
  }
  html.table(header, rows);
  html.bars("error of the outputs with this layer quantized alone, per cent of their size (root "
            "mean square)",
            bars);
}

/// Tensors of the worst layers, then those that are worst on their own grids.
std::vector<const TensorView*> by_interest(const Findings& f) {
  std::vector<const TensorView*> all, out;
  for (const std::vector<TensorView>* each : {&f.looked.values, &f.looked.weights})
    for (const TensorView& view : *each)
      all.push_back(&view);
  std::stable_sort(all.begin(), all.end(), [](const TensorView* a, const TensorView* b) {
    return a->sqnr_alone_db().value_or(1e9) < b->sqnr_alone_db().value_or(1e9);
  });
  std::set<const TensorView*> listed;
  const auto add = [&](const TensorView* view) {
    if (listed.insert(view).second) out.push_back(view);
  };
  for (const LayerFinding& finding : f.ranking)
    for (const std::vector<std::string>* each :
         {&finding.layer.activations, &finding.layer.weights})
      for (const std::string& value : *each)
        for (const TensorView* view : all)
          if (view->value() == value) add(view);
  for (const TensorView* view : all)
    add(view);
  return out;
}

void add_tensors(HtmlPage& html, const std::vector<const TensorView*>& views) {
  html.heading("Tensors");
  html.paragraph("SQNR: beside the float model, all that is before the tensor quantized too. "
                 "Alone: the tensor on its own "
                 "grid. Worst channel: its largest magnitude over the median channel's.");
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < std::min(views.size(), kMostTensors); ++i) {
    const TensorView& v = *views[i];
    const auto outliers = v.outliers(1);
    rows.push_back({v.value(), decibel_text(v.sqnr_db()), decibel_text(v.sqnr_alone_db()),
                    fmt::format("{:.5f}", v.cosine()), fmt::format("{:.3g}", v.max_error()),
                    fmt::format("{:.2f} %", 100 * v.saturated()),
                    v.grid_used() ? fmt::format("{:.0f} %", 100 * *v.grid_used()) : "-",
                    outliers.empty()
                        ? "-"
                        : fmt::format("{}: {:.1f} x", outliers[0].channel, outliers[0].ratio)});
  }
  html.table({"tensor", "SQNR, dB", "alone, dB", "cosine", "largest error", "saturated",
              "grid used", "worst channel"},
             rows);
}

void add_histograms(HtmlPage& html, const std::vector<const TensorView*>& views) {
  constexpr double kStandsOut = 4;
  constexpr size_t kChannels = 6;
  html.heading("Ranges");
  html.paragraph("Blue: how often values of that size occur in the float model, on a logarithmic "
                 "axis. Green: what the "
                 "codes stand for.");
  size_t drawn = 0;
  for (const TensorView* view : views) {
    if (view->elements() == 0) continue;
    if (drawn++ == kMostHistograms) break;
    html.histogram(caption_of(*view), histogram_of(*view));
    const auto outliers = view->outliers(kChannels);
    if (outliers.empty() || outliers.front().ratio < kStandsOut) continue;
    std::vector<HtmlPage::Bar> bars;
    bars.reserve(outliers.size());
    for (const OutlierChannel& channel : outliers)
      bars.push_back({fmt::format("channel {}", channel.channel), channel.magnitude,
                      fmt::format("{:.3g}, {:.1f} x", channel.magnitude, channel.ratio), 0, 0});
    html.bars(
        fmt::format("{}: largest magnitudes of channels, and how many times the median channel's",
                    view->value()),
        bars);
  }
}

} // namespace

std::string findings_page(const Findings& f, const std::string& origin) {
  HtmlPage html("octet: where accuracy goes");
  html.origin(origin);
  std::string outputs = fmt::format(
      "{} beside {} over {} examples of {}: outputs {:.1f} dB, cosine {:.6f}", f.quantized_model,
      f.float_model, f.looked.examples, f.data, f.outputs.sqnr_db, f.outputs.cosine);
  if (f.float_accuracy && f.quantized_accuracy)
    outputs += fmt::format("; accuracy {:.2f} %, {:.2f} % in float", 100 * *f.quantized_accuracy,
                           100 * *f.float_accuracy);
  html.paragraph(outputs + ".");
  add_ranking(html, f);
  const std::vector<const TensorView*> views = by_interest(f);
  add_tensors(html, views);
  add_histograms(html, views);
  return html.text();
}

} // namespace octet

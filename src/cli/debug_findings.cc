// SPDX-License-Identifier: Apache-2.0
#include "cli/debug_findings.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/format.h"
#include "core/json.h"
#include "core/string_util.h"
#include "report/table.h"
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

using FindingJson = nlohmann::ordered_json;

/// A number, or null for one that JSON cannot hold.
FindingJson json_number(double value) {
  return std::isfinite(value) ? FindingJson(value) : FindingJson(nullptr);
}
FindingJson json_number(const std::optional<double>& value) {
  return value ? json_number(*value) : FindingJson(nullptr);
}
std::string in_db(const std::optional<double>& value) {
  return value ? fmt::format("{:.1f}", *value) : std::string("-");
}
std::string percent(double share) {
  return fmt::format("{:.2f} %", 100 * share);
}

FindingJson tensor_json(const TensorView& view, const char* kind, const std::string& node) {
  FindingJson out = {{"value", view.value()},
                     {"kind", kind},
                     {"node", node},
                     {"elements", view.elements()},
                     {"sqnr_db", json_number(view.sqnr_db())},
                     {"sqnr_alone_db", json_number(view.sqnr_alone_db())},
                     {"cosine", json_number(view.cosine())},
                     {"max_error", json_number(view.max_error())},
                     {"saturated", json_number(view.saturated())},
                     {"lowest", json_number(view.lowest())},
                     {"highest", json_number(view.highest())}};
  if (view.grid()) {
    const Range range = *view.grid_range();
    out["grid"] = {{"type", std::string(octet::name(view.grid()->codes))},
                   {"bits", view.bits()},
                   {"scales", view.grid()->count()},
                   {"lowest", json_number(range.lo)},
                   {"highest", json_number(range.hi)},
                   {"used", json_number(view.grid_used())}};
  }
  FindingJson channels = FindingJson::array();
  constexpr size_t kShown = 3;
  for (const OutlierChannel& channel : view.outliers(kShown))
    channels.push_back({{"channel", channel.channel},
                        {"magnitude", json_number(channel.magnitude)},
                        {"ratio", json_number(channel.ratio)}});
  out["channels"] = std::move(channels);
  return out;
}

FindingJson remedy_json(const TriedRemedy& tried) {
  return {{"remedy", tried.name},
          {"what", tried.words},
          {"predicted_gain_db", json_number(tried.gain_db)}};
}

FindingJson ranking_json(const Findings& f) {
  FindingJson out = FindingJson::array();
  for (const LayerFinding& finding : f.ranking) {
    FindingJson one = {
        {"node", finding.layer.node},
        {"op", finding.op},
        {"damage_db", json_number(-decibels(finding.error_alone))},
        {"sqnr_alone_db", json_number(decibels(finding.error_alone))},
        {"accuracy_alone", json_number(finding.accuracy_alone)},
        {"remedy", finding.remedy ? FindingJson(finding.remedy->name) : FindingJson(nullptr)},
        {"what", finding.remedy ? FindingJson(finding.remedy->words) : FindingJson(nullptr)},
        {"predicted_gain_db",
         finding.remedy ? json_number(finding.remedy->gain_db) : FindingJson(nullptr)},
        {"tensors", FindingJson::array()},
        {"tried", FindingJson::array()}};
    for (const auto* each : {&finding.layer.activations, &finding.layer.weights})
      for (const std::string& value : *each)
        one["tensors"].push_back(value);
    for (const TriedRemedy& tried : finding.tried)
      one["tried"].push_back(remedy_json(tried));
    out.push_back(std::move(one));
  }
  return out;
}

FindingJson applied_json(const AppliedChanges& applied) {
  FindingJson out = {
      {"file", applied.file.empty() ? FindingJson(nullptr) : FindingJson(applied.file)},
      {"changes", FindingJson::array()}};
  for (const TriedRemedy& change : applied.changes)
    out["changes"].push_back(remedy_json(change));
  if (!applied.why.empty()) out["why"] = applied.why;
  if (applied.after_db != 0 || applied.before_db != 0) {
    out["sqnr_db_before"] = json_number(applied.before_db);
    out["sqnr_db"] = json_number(applied.after_db);
    out["accuracy"] = json_number(applied.accuracy);
  }
  return out;
}

struct TensorRow {
  const TensorView* view;
  std::string kind;
};

/// The tensors that lie furthest from their float values on their own grids, outputs first.
std::vector<TensorRow> rows_of(const Findings& f) {
  std::vector<TensorRow> rows;
  for (size_t i = 0; i < f.looked.values.size(); ++i)
    rows.push_back({&f.looked.values[i], f.pairs.values[i].output ? "output"
                                         : f.pairs.values[i].grid ? "activation"
                                                                  : "float"});
  for (const TensorView& view : f.looked.weights)
    rows.push_back({&view, "weight"});
  std::stable_sort(rows.begin(), rows.end(), [](const TensorRow& a, const TensorRow& b) {
    const auto key = [](const TensorRow& row) {
      return row.kind == "output" ? -1e9 : row.view->sqnr_alone_db().value_or(1e9);
    };
    return key(a) < key(b);
  });
  return rows;
}

void print_tensors(const Findings& f) {
  constexpr size_t kShown = 25;
  std::vector<TensorRow> rows = rows_of(f);
  Table table({"tensor", "kind", "SQNR dB", "alone dB", "cosine", "largest error", "saturated",
               "grid used", "worst channel"});
  for (size_t i = 0; i < std::min(rows.size(), kShown); ++i) {
    const TensorView& v = *rows[i].view;
    const auto outliers = v.outliers(1);
    table.add({v.value(), rows[i].kind, in_db(v.sqnr_db()), in_db(v.sqnr_alone_db()),
               fmt::format("{:.5f}", v.cosine()), fmt::format("{:.3g}", v.max_error()),
               v.grid() ? percent(v.saturated()) : "-",
               v.grid_used() ? fmt::format("{:.0f} %", 100 * *v.grid_used()) : "-",
               outliers.empty()
                   ? "-"
                   : fmt::format("{}: {:.1f} x", outliers[0].channel, outliers[0].ratio)});
  }
  fmt::print("tensors beside their float values, over {} examples of {} (SQNR: all that is before "
             "them quantized too; alone: on their own grid):\n{}",
             f.looked.examples, f.data, table.text());
  if (rows.size() > kShown)
    fmt::print("{} more, all of them with --json or --report\n", rows.size() - kShown);
}

void print_ranking(const Findings& f) {
  if (f.ranking.empty()) return;
  const bool labelled = f.float_accuracy.has_value();
  std::vector<std::string> header = {"layer", "operator", "outputs dB"};
  if (labelled) header.push_back("accuracy");
  header.insert(header.end(), {"what helps", "how", "gain dB"});
  Table table(header);
  constexpr size_t kShown = 20;
  for (size_t i = 0; i < std::min(f.ranking.size(), kShown); ++i) {
    const LayerFinding& finding = f.ranking[i];
    std::vector<std::string> row = {finding.layer.node, finding.op,
                                    in_db(decibels(finding.error_alone))};
    if (labelled) row.push_back(percent(finding.accuracy_alone.value_or(0)));
    if (finding.remedy)
      row.insert(row.end(), {finding.remedy->name, finding.remedy->words,
                             fmt::format("{:+.1f}", finding.remedy->gain_db)});
    else
      row.insert(row.end(), {finding.tried.empty() ? "-" : "nothing tried does", "-", "-"});
    table.add(std::move(row));
  }
  fmt::print("each layer quantized alone, the others in float, over {} examples; gains measured on "
             "{}:\n{}",
             f.alone_examples,
             f.held_back > 0 ? fmt::format("{} examples held back", f.held_back)
                             : std::string("the examples that were calibrated with"),
             table.text());
  if (f.ranking.size() > kShown)
    fmt::print("{} more, all of them with --json or --report\n", f.ranking.size() - kShown);
  if (f.layers > f.ranking.size())
    fmt::print("{} of {} layers were looked at, those with the worst tensors: --limit with fewer "
               "examples looks at more\n",
               f.ranking.size(), f.layers);
}

void print_plan(const Findings& f) {
  if (f.ranking.empty()) return;
  if (!f.plan_is_the_file)
    fmt::print(
        "{} gives other outputs than {} ({:.1f} dB apart): layers and gains are the plan's; steps "
        "and "
        "trained weights are in no plan that is read off a file, name the file's own by --plan\n",
        f.plan_from.empty() ? "the plan that was read off the file" : f.plan_from,
        f.quantized_model, f.plan_gap_db);
}

void print_applied(const AppliedChanges& applied) {
  for (const TriedRemedy& change : applied.changes)
    fmt::print("{}{}: {} ({:+.1f} dB)\n",
               applied.file.empty() ? "not written: " : "changed: ", change.name, change.words,
               change.gain_db);
  if (!applied.file.empty()) {
    fmt::print("{}: outputs {:.1f} dB, {:.1f} before", applied.file, applied.after_db,
               applied.before_db);
    fmt::print("{}\n",
               applied.accuracy ? fmt::format(", accuracy {}", percent(*applied.accuracy)) : "");
  } else if (!applied.why.empty()) {
    fmt::print("no file was written: {}\n", applied.why);
  }
}

} // namespace

void print_findings(const Findings& f, const AppliedChanges& applied) {
  print_tensors(f);
  print_ranking(f);
  print_plan(f);
  if (!f.pairs.unmatched.empty())
    fmt::print("without a counterpart in {}: {}\n", f.float_model, join_some(f.pairs.unmatched, 5));
  fmt::print("outputs: {:.1f} dB, cosine {:.6f}", f.outputs.sqnr_db, f.outputs.cosine);
  if (f.float_accuracy && f.quantized_accuracy)
    fmt::print("; accuracy {}, {} in float", percent(*f.quantized_accuracy),
               percent(*f.float_accuracy));
  fmt::print("\n");
  print_applied(applied);
  if (f.stopped) fmt::print("stopped; this is what was there\n");
}

void print_findings_json(const Findings& f, const AppliedChanges& applied) {
  FindingJson out = {
      {"float", f.float_model},
      {"quantized", f.quantized_model},
      {"examples", f.looked.examples},
      {"output",
       {{"sqnr_db", json_number(f.outputs.sqnr_db)}, {"cosine", json_number(f.outputs.cosine)}}},
      {"tensors", FindingJson::array()}};
  for (size_t i = 0; i < f.looked.values.size(); ++i)
    out["tensors"].push_back(tensor_json(f.looked.values[i],
                                         f.pairs.values[i].output ? "output"
                                         : f.pairs.values[i].grid ? "activation"
                                                                  : "float",
                                         f.pairs.values[i].node));
  for (size_t i = 0; i < f.looked.weights.size(); ++i)
    out["tensors"].push_back(tensor_json(f.looked.weights[i], "weight", f.pairs.weights[i].node));
  out["ranking"] = ranking_json(f);
  out["alone"] = {{"examples", f.alone_examples},
                  {"layers", f.layers},
                  {"held_back", f.held_back},
                  {"accuracy_float", json_number(f.float_accuracy)},
                  {"accuracy", json_number(f.quantized_accuracy)}};
  out["plan"] = {{"file", f.plan_from.empty() ? FindingJson(nullptr) : FindingJson(f.plan_from)},
                 {"makes_the_file", f.plan_is_the_file},
                 {"gap_db", json_number(f.plan_gap_db)}};
  out["unmatched"] = f.pairs.unmatched;
  out["stopped"] = f.stopped;
  if (!applied.file.empty() || !applied.why.empty()) out["applied"] = applied_json(applied);
  fmt::print("{}\n", json_text(out));
}

} // namespace octet::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/data_check.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "core/format.h"
#include "core/string_util.h"
#include <fmt/format.h>

namespace octet::cli {
namespace {

using LabelCounts = std::map<int64_t, int64_t>;

/// Only there the names of features and labels are the user's own.
bool is_array_spec(std::string_view spec) {
  return spec.starts_with("npz:") || spec.starts_with("npy:");
}

/// The classes that a graph's first output scores; none: not known, or no scores of classes (one
/// column holds a number, or tells two apart).
std::optional<int64_t> scored_classes(const Graph& graph) {
  if (graph.outputs().empty()) return std::nullopt;
  const TypeInfo& type = graph.value(graph.outputs()[0]).type;
  if (!type.has_rank() || type.rank() != 2) return std::nullopt;
  const std::optional<int64_t> columns = type.shape->back().maybe_value();
  return columns == 1 ? std::nullopt : columns;
}

/// Labels that are numbers: as many as the output has.
Status check_numbers(const Graph& graph, const Batch& example) {
  if (graph.outputs().empty()) return ok_status();
  const Value& output = graph.value(graph.outputs()[0]);
  if (!output.type.has_rank() || output.type.rank() == 0) return ok_status();
  int64_t count = 1;
  for (auto dim = output.type.shape->begin() + 1; dim != output.type.shape->end(); ++dim) {
    if (!dim->is_constant()) return ok_status();
    count *= dim->value();
  }
  for (const auto& [name, tensor] : example.targets)
    if (name == kNumberLabels && tensor.count() != count)
      return error("the labels are {} an example, and the model's output \"{}\" is {}; give it as "
                   "many labels as it has numbers, or train it with --classes {}",
                   counted(tensor.count(), "number"), output.name, output.type.text(),
                   tensor.count());
  return ok_status();
}

Status
check_labels_in_range(const Graph& graph, const LabelCounts& labels, const std::string& data) {
  const std::optional<int64_t> classes = scored_classes(graph);
  if (labels.empty() || !classes) return ok_status();
  const int64_t least = labels.begin()->first, most = labels.rbegin()->first;
  if (least >= 0 && most < *classes) return ok_status();
  return error("{}: label {} is out of range: the model's output \"{}\" tells {} apart, 0 "
               "to {}{}",
               data, least < 0 ? least : most, graph.value(graph.outputs()[0]).name, *classes,
               *classes - 1,
               least == 1 && most == *classes ? "; the labels count from 1, subtract 1 from them"
                                              : "; give the data the labels of this model");
}

/// What arrays can be called that are taken.
std::vector<std::string> known_names(const std::vector<std::string>& inputs) {
  std::vector<std::string> out = {"y", "label", "labels"};
  out.insert(out.end(), inputs.begin(), inputs.end());
  for (const std::string& base : std::vector<std::string>(out))
    for (const char* part : {"_train", "_test"})
      out.push_back(base + part);
  return out;
}

/// Arrays that no input is called like.
Status check_names(const Graph& graph, const Dataset& data, const std::string& spec) {
  std::vector<std::string> inputs, open, unknown;
  for (const ValueId id : graph.inputs())
    inputs.push_back(graph.value(id).name);
  open = inputs;
  for (const auto& [name, type] : data.features()) {
    std::erase(open, name);
    if (std::find(inputs.begin(), inputs.end(), name) == inputs.end()) unknown.push_back(name);
  }
  if (unknown.size() == open.size()) {
    for (size_t i = 0; i < open.size(); ++i)
      if (unknown[i] != "x" || open.size() > 1)
        fmt::print(stderr, "{}: array \"{}\" is taken for the input \"{}\", by its place\n", spec,
                   unknown[i], open[i]);
    return ok_status();
  }
  for (const std::string& name : unknown) {
    if (const auto near = nearest_match(name, known_names(inputs)))
      return error("{}: nothing takes the array \"{}\"; did you mean \"{}\"?", spec, name, *near);
    fmt::print(stderr, "{}: nothing takes the array \"{}\"; it is left out\n", spec, name);
  }
  return ok_status();
}

Status check_first_example(const Graph& graph, const Dataset& data) {
  if (data.size() == 0) return error("{} holds no examples", data.description());
  const Batch batch = OCTET_TRY(data.batch(std::array<int64_t, 1>{0}));
  OCTET_TRY(check_numbers(graph, batch));
  // A graph of a fixed batch is run with as many examples.
  if (batch_for(graph, data, 1) != 1) return ok_status();
  OCTET_TRY(bind_inputs(graph, batch));
  return ok_status();
}

Result<LabelCounts>
check_part(const Graph& graph, const Dataset& data, const std::string& spec, int64_t limit) {
  if (is_array_spec(spec)) OCTET_TRY(check_names(graph, data, spec));
  OCTET_TRY(check_first_example(graph, data));
  LabelCounts labels = OCTET_TRY(count_labels(data, limit));
  OCTET_TRY(check_labels_in_range(graph, labels, data.description()));
  if (is_array_spec(spec) && limit == 0 && !labels.empty() && labels.begin()->first > 0)
    fmt::print(stderr, "{}: no example has the label 0, the least is {}; labels count from 0\n",
               spec, labels.begin()->first);
  return labels;
}

std::vector<std::string> missing_names(const std::vector<std::string>& wanted,
                                       const std::vector<std::string>& there) {
  std::vector<std::string> out;
  for (const std::string& name : wanted)
    if (std::find(there.begin(), there.end(), name) == there.end()) out.push_back(name);
  return out;
}

/// "1 (\"positive\")", or the number alone.
std::string label_text(const Dataset& data, int64_t label) {
  const bool named = label >= 0 && label < std::ssize(data.classes()) &&
                     data.classes()[static_cast<size_t>(label)] != std::to_string(label);
  return named ? fmt::format("{} (\"{}\")", label, data.classes()[static_cast<size_t>(label)])
               : std::to_string(label);
}

/// Labels that teach nothing, or that make accuracy look better than it is.
void tell_balance(const Dataset& data, const LabelCounts& labels) {
  constexpr double kMostly = 0.9; ///< of the examples in one class
  constexpr double kRare = 0.05;  ///< of what each class would have if all had as many
  constexpr int64_t kFew = 20;
  int64_t all = 0;
  for (const auto& [label, count] : labels)
    all += count;
  if (all < kFew) return;
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto most = *std::max_element(labels.begin(), labels.end(), fewer);
  const auto least = *std::min_element(labels.begin(), labels.end(), fewer);
  if (labels.size() == 1) {
    fmt::print(stderr,
               "{}: all {} examples have the label {}, so there is nothing to tell apart; give it "
               "examples of the other classes, or look at the labels (octet data show)\n",
               data.description(), all, label_text(data, most.first));
    return;
  }
  const double share = static_cast<double>(most.second) / static_cast<double>(all);
  const double even = static_cast<double>(all) / static_cast<double>(labels.size());
  if (share < kMostly && static_cast<double>(least.second) >= kRare * even) return;
  fmt::print(stderr,
             "{}: classes are far from balanced, {} of {} examples have the label {} and {} the "
             "label {}: always saying the first is right for {:.1f} %. Go by F1 and Matthews' "
             "correlation (octet eval) rather than by accuracy; more examples of the rare classes "
             "help, or the same ones several times\n",
             data.description(), most.second, all, label_text(data, most.first), least.second,
             label_text(data, least.first), 100 * share);
}

} // namespace

Result<std::map<int64_t, int64_t>> count_labels(const Dataset& data, int64_t limit) {
  constexpr int64_t kBatch = 1000;
  LabelCounts count;
  const int64_t end = limit > 0 ? std::min(limit, data.size()) : data.size();
  for (int64_t begin = 0; begin < end; begin += kBatch) {
    std::vector<int64_t> indices(static_cast<size_t>(std::min(kBatch, end - begin)));
    std::iota(indices.begin(), indices.end(), begin);
    const Batch batch = OCTET_TRY(data.batch(indices));
    if (batch.labels.empty()) continue;
    for (const int64_t label : OCTET_TRY(batch.labels.to_ints()))
      ++count[label];
  }
  return count;
}

Status check_data(const Graph& graph, const Dataset& data, const std::string& spec, int64_t limit) {
  OCTET_TRY(check_part(graph, data, spec, limit));
  return ok_status();
}

Status check_training_data(const Graph& graph,
                           const Dataset& examples,
                           const Dataset* test,
                           const std::string& spec) {
  const LabelCounts labels = OCTET_TRY(check_part(graph, examples, spec, 0));
  // Integers for one column are classes where they are 0 and 1, and may be numbers to learn else.
  if (scored_classes(graph) ||
      (!labels.empty() && labels.begin()->first >= 0 && labels.rbegin()->first <= 1))
    tell_balance(examples, labels);
  if (test == nullptr) return ok_status();
  const LabelCounts test_labels = OCTET_TRY(check_part(graph, *test, spec, 0));
  constexpr const char* kWayOut = "; --no-validation trains without test data";
  if (!labels.empty() && test_labels.empty())
    return error("{}: the test data have no labels, the training data have{}", spec, kWayOut);
  std::vector<std::string> unseen = missing_names(test->classes(), examples.classes());
  // Of texts a few may have been drawn, which need not show every class.
  for (const auto& [label, count] : test_labels)
    if (is_array_spec(spec) && !labels.contains(label)) unseen.push_back(fmt::format("{}", label));
  std::sort(unseen.begin(), unseen.end());
  unseen.erase(std::unique(unseen.begin(), unseen.end()), unseen.end());
  if (unseen.empty()) return ok_status();
  return error("{}: the test data have labels that no training example has, so nothing can learn "
               "them: {}{}",
               spec, join_some(unseen), kWayOut);
}

} // namespace octet::cli

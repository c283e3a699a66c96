// SPDX-License-Identifier: Apache-2.0
// Losses.
#include "train/trainer/objective.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "core/string_util.h"
#include "ops/parameters.h"
#include "ops/qdq/clamp.h"
#include "train/convert.h"
#include "train/guard.h"
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/kl_div.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/stack.h>

namespace octet::train {
namespace {

constexpr int64_t kSum = 2; ///< at::Reduction::Sum

bool is_softmax_of_classes(const Graph& graph, const Node& node) {
  if (!node.is("Softmax") && !node.is("LogSoftmax")) return false;
  const TypeInfo& x = graph.value(node.inputs[0]).type;
  const int64_t axis = node.attr_int("axis", graph.opset() < 13 ? 1 : -1);
  return axis == -1 || (x.has_rank() && (axis == x.rank() - 1));
}

/// The logits behind an output, or the output.
ValueId logits_of(const Graph& graph, ValueId output) {
  ValueId value = output;
  const Node* node = graph.producer(value);
  while (node != nullptr && (node->is("QuantizeLinear") || node->is("DequantizeLinear") ||
                             node->is("Identity") || qdq::clamps_codes(graph, *node))) {
    value = node->inputs[0];
    node = graph.producer(value);
  }
  return node != nullptr && is_softmax_of_classes(graph, *node) ? node->inputs[0] : output;
}

Result<ValueId> find_output(const Graph& graph, const std::string& name) {
  std::string known;
  for (const ValueId v : graph.outputs()) {
    if (name.empty() || graph.value(v).name == name) return v;
    known += (known.empty() ? "" : ", ") + graph.value(v).name;
  }
  if (graph.outputs().empty()) return error("the graph has no output to train");
  return error("the graph has no output \"{}\"; it has {}", name, known);
}

/// Values outside of constants whose names match one of the patterns.
std::vector<std::string> matching_values(const Graph& graph, std::span<const std::string> names) {
  std::vector<std::string> out;
  for (const NodeId id : graph.nodes())
    for (const ValueId v : graph.node(id).outputs)
      if (v.valid() && std::any_of(names.begin(), names.end(), [&](const std::string& pattern) {
            return glob_match(pattern, graph.value(v).name);
          }))
        out.push_back(graph.value(v).name);
  return out;
}

/// Losses are computed in f32 at least.
at::Tensor widened(const at::Tensor& t) {
  return t.scalar_type() == at::kDouble ? t : t.to(at::kFloat);
}

/// [rows, classes] of an output with any leading axes.
at::Tensor as_rows(const at::Tensor& output) {
  return widened(output.dim() == 2 ? output : output.reshape({-1, output.size(-1)}));
}

/// The distance of each row from the unit vector of its label, squared and averaged over the
/// classes, summed over the rows that are not ignored.
at::Tensor
mean_square_sum(const at::Tensor& rows, const at::Tensor& targets, const at::Tensor& ignored) {
  const at::Tensor classes = at::arange(rows.size(1), targets.options());
  const at::Tensor wanted = at::eq(targets.masked_fill(ignored, 0).unsqueeze(1), classes);
  const at::Tensor column = ignored.unsqueeze(1);
  return at::mse_loss(rows.masked_fill(column, 0),
                      wanted.to(rows.scalar_type()).masked_fill(column, 0), kSum) /
         rows.size(1);
}

} // namespace

Result<Objective>
Objective::create(const Graph& graph, const TrainOptions& options, const Batch& probe) {
  Objective out;
  out.smoothing_ = options.label_smoothing;
  OCTET_TRY(out.find_terms(graph, options));
  OCTET_TRY(out.labels(probe));
  if (options.teacher.graph != nullptr)
    OCTET_TRY_WITH(out.find_teacher(graph, options.teacher), "teacher");
  return out;
}

Status Objective::find_terms(const Graph& graph, const TrainOptions& options) {
  std::vector<LossTerm> specs = options.losses;
  if (specs.empty()) specs.push_back({.output = {}, .target = {}, .kind = options.loss});
  for (LossTerm& spec : specs) {
    if (spec.kind == LossKind::kAuto) spec.kind = LossKind::kCrossEntropy;
    const ValueId output = OCTET_TRY(find_output(graph, spec.output));
    Term term{spec, graph.value(output).name, 0};
    const TypeInfo& type = graph.value(output).type;
    if (type.has_rank() && type.rank() >= 1)
      term.classes = type.shape->back().maybe_value().value_or(0);
    wanted_.push_back(spec.kind == LossKind::kCrossEntropy ? logits_of(graph, output) : output);
    terms_.push_back(std::move(term));
  }
  return ok_status();
}

Status Objective::find_teacher(const Graph& graph, const TeacherOptions& teacher) {
  teacher_ = teacher;
  for (const Term& term : terms_)
    teacher_wanted_.push_back(
        logits_of(*teacher.graph, OCTET_TRY(find_output(*teacher.graph, term.name))));
  if (teacher.hidden_weight == 0) return ok_status();
  const std::vector<std::string> names = matching_values(*teacher.graph, teacher.hidden);
  if (names.empty())
    return error("no value's name matches the hidden values; `octet inspect --nodes` lists them");
  for (const std::string& name : names) {
    const std::optional<ValueId> ours = graph.find_value(name);
    if (!ours) return error("the trained graph has no value \"{}\", which the teacher has", name);
    wanted_.push_back(*ours);
    teacher_wanted_.push_back(*teacher.graph->find_value(name));
  }
  return ok_status();
}

Result<double> Objective::count(const Term& term, const octet::Tensor& labels) {
  int64_t counted = 0;
  for (const int64_t label : OCTET_TRY(labels.to_ints())) {
    if (label == term.spec.ignore_index) continue;
    if (term.classes > 0 && (label < 0 || label >= term.classes))
      return error("label {} is out of range: the output \"{}\" tells {} classes apart, 0 .. {}; "
                   "give the data labels of this model, or train a model of more classes",
                   label, term.name, term.classes, term.classes - 1);
    ++counted;
  }
  return static_cast<double>(counted);
}

Result<Objective::Labels> Objective::labels(const Batch& batch) const {
  Labels out;
  for (const Term& term : terms_) {
    const octet::Tensor* found = term.spec.target.empty() ? &batch.labels : nullptr;
    for (const auto& [name, tensor] : batch.targets)
      if (name == term.spec.target) found = &tensor;
    if (found == nullptr || (found == &batch.labels && found->empty()))
      return found == nullptr
                 ? error("the data set has no target \"{}\"", term.spec.target)
                 : error("the data set has no labels; training needs them for its loss");
    out.counts.push_back(OCTET_TRY(count(term, *found)));
    out.targets.push_back(OCTET_TRY(guarded(
        [&]() -> Result<at::Tensor> { return to_torch(*found).to(at::kLong).reshape({-1}); })));
  }
  return out;
}

double Objective::guessing() const {
  double sum = 0;
  for (const Term& term : terms_) {
    const auto classes = static_cast<double>(std::max<int64_t>(term.classes, 2));
    sum += term.spec.weight * (term.spec.kind == LossKind::kMeanSquare ? 1 : std::log(classes));
  }
  return sum;
}

at::Tensor Sums::numbers() const {
  std::vector<at::Tensor> all;
  for (const std::vector<at::Tensor>* list : {&loss, &correct})
    for (const at::Tensor& number : *list)
      all.push_back(number.detach().to(at::kDouble));
  all.push_back(total.detach().to(at::kDouble));
  return at::stack(all);
}

at::Tensor Objective::term_sum(size_t term,
                               const at::Tensor& output,
                               const at::Tensor& targets,
                               Sums& sums) const {
  const LossTerm& spec = terms_[term].spec;
  TORCH_CHECK(output.dim() >= 2 && output.numel() / output.size(-1) == targets.size(0),
              "the output \"", terms_[term].name, "\" of shape ", output.sizes(),
              " does not hold classes for ", targets.size(0), " labels");
  const at::Tensor rows = as_rows(output);
  const at::Tensor ignored = at::eq(targets, spec.ignore_index);
  at::Tensor loss;
  if (spec.kind == LossKind::kMeanSquare)
    loss = mean_square_sum(rows, targets, ignored);
  else
    loss = at::cross_entropy_loss(rows, targets, std::nullopt, kSum, spec.ignore_index, smoothing_);
  sums.loss.push_back(loss);
  const at::Tensor correct = at::eq(at::argmax(rows.detach(), 1), targets);
  sums.correct.push_back(correct.masked_fill(ignored, false).sum());
  return loss;
}

at::Tensor Objective::divergence_sum(size_t term,
                                     const at::Tensor& output,
                                     const at::Tensor& taught,
                                     const at::Tensor& targets) const {
  TORCH_CHECK(output.sizes() == taught.sizes(), "the output \"", terms_[term].name, "\" has shape ",
              output.sizes(), " and the teacher's ", taught.sizes());
  const double t = teacher_.temperature;
  const at::Tensor ours = at::log_softmax(as_rows(output) / t, 1);
  const at::Tensor theirs = at::log_softmax(as_rows(taught) / t, 1);
  const at::Tensor rows = at::kl_div(ours, theirs, /*reduction=*/0, /*log_target=*/true).sum(1);
  const at::Tensor counted = at::ne(targets, terms_[term].spec.ignore_index);
  return (rows * counted.to(rows.scalar_type())).sum() * (t * t);
}

Sums Objective::measure(const std::vector<at::Tensor>& outputs,
                        const std::vector<at::Tensor>& taught,
                        const Labels& labels,
                        const std::vector<double>& counts) const {
  Sums sums;
  const double from_teacher = taught.empty() ? 0 : teacher_.weight;
  const auto add = [&](const at::Tensor& part) {
    sums.total = sums.total.defined() ? sums.total + part : part;
  };
  for (size_t i = 0; i < terms_.size(); ++i) {
    const double scale = terms_[i].spec.weight / std::max(1.0, counts[i]);
    add(term_sum(i, outputs[i], labels.targets[i], sums) * (scale * (1 - from_teacher)));
    if (from_teacher > 0)
      add(divergence_sum(i, outputs[i], taught[i], labels.targets[i]) * (scale * from_teacher));
  }
  // Of a step made of several batches each counts by its share of the first term's labels.
  const double share = counts[0] > 0 ? labels.counts[0] / counts[0] : 0;
  for (size_t i = terms_.size(); !taught.empty() && i < taught.size(); ++i)
    add(at::mse_loss(widened(outputs[i]), widened(taught[i])) * (teacher_.hidden_weight * share));
  return sums;
}

} // namespace octet::train

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
#include "train/ops/widened.h"
#include "train/trainer/losses.h"
#include <ATen/TensorOperators.h>
#include <ATen/ops/kl_div.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/stack.h>

namespace octet::train {
namespace {

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

/// The value that a Sigmoid makes an output of, also where its elements then get other axes.
ValueId sigmoid_logits_of(const Graph& graph, ValueId output) {
  ValueId value = output;
  const Node* node = graph.producer(value);
  while (node != nullptr &&
         (node->is("QuantizeLinear") || node->is("DequantizeLinear") || node->is("Identity") ||
          node->is("Reshape") || node->is("Flatten") || node->is("Squeeze") ||
          node->is("Unsqueeze") || qdq::clamps_codes(graph, *node))) {
    value = node->inputs[0];
    node = graph.producer(value);
  }
  return node != nullptr && node->is("Sigmoid") ? node->inputs[0] : output;
}

ValueId differentiated(const Graph& graph, ValueId output, LossKind kind) {
  if (kind == LossKind::kCrossEntropy) return logits_of(graph, output);
  return kind == LossKind::kBinaryCrossEntropy ? sigmoid_logits_of(graph, output) : output;
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

} // namespace

Result<Objective>
Objective::create(const Graph& graph, const TrainOptions& options, const Batch& probe) {
  Objective out;
  out.smoothing_ = options.label_smoothing;
  OCTET_TRY(out.find_terms(graph, options));
  OCTET_TRY(out.choose_targets(probe));
  for (const Term& term : out.terms_)
    OCTET_TRY(out.check_term(graph, term));
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
    Term term{spec, graph.value(output).name};
    const TypeInfo& type = graph.value(output).type;
    if (type.has_rank() && type.rank() >= 1)
      term.classes = type.rank() == 1 ? 1 : type.shape->back().maybe_value().value_or(0);
    wanted_.push_back(differentiated(graph, output, spec.kind));
    terms_.push_back(std::move(term));
  }
  return ok_status();
}

Status Objective::choose_targets(const Batch& probe) {
  for (Term& term : terms_) {
    if (term.spec.target.empty() && probe.labels.empty()) term.spec.target = kNumberLabels;
    term.numbers = is_float(OCTET_TRY(target_of(term, probe))->type());
  }
  return ok_status();
}

Status Objective::check_term(const Graph& graph, const Term& term) const {
  const std::string_view loss = name_of(term.spec.kind);
  if (term.spec.kind == LossKind::kCrossEntropy) {
    if (term.numbers)
      return error("the labels are numbers, and cross-entropy learns classes (integers from 0 on, "
                   "one of an example); numbers are learned with --loss mean-square, 0 and 1 for "
                   "each of several classes with --loss binary-cross-entropy");
    if (term.classes == 1)
      return error("the output \"{}\" has one column, and cross-entropy tells classes apart by "
                   "one each; use --loss binary-cross-entropy, or --classes 2 for an output of two",
                   term.name);
    return ok_status();
  }
  if (smoothing_ > 0)
    return error("label smoothing is of cross-entropy, the loss is {}; leave it out", loss);
  const Node* last = graph.producer(OCTET_TRY(find_output(graph, term.name)));
  if (term.spec.kind == LossKind::kBinaryCrossEntropy && last != nullptr &&
      (last->is("Softmax") || last->is("LogSoftmax")))
    return error("the output \"{}\" is a {} of classes that exclude each other, and binary "
                 "cross-entropy takes each by itself; use --loss cross-entropy, or a model that "
                 "ends in a Sigmoid or in logits",
                 term.name, last->op_type);
  return ok_status();
}

Status Objective::find_teacher(const Graph& graph, const TeacherOptions& teacher) {
  teacher_ = teacher;
  for (const Term& term : terms_)
    if (term.numbers)
      return error("what it teaches are classes, and the labels are numbers; train without one");
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

Result<const octet::Tensor*> Objective::target_of(const Term& term, const Batch& batch) {
  const octet::Tensor* found =
      term.spec.target.empty() && !batch.labels.empty() ? &batch.labels : nullptr;
  for (const auto& [name, tensor] : batch.targets)
    if (name == term.spec.target) found = &tensor;
  if (found != nullptr) return found;
  if (term.spec.target.empty() || term.spec.target == kNumberLabels)
    return error("the data set has no labels; training needs them for its loss");
  return error("the data set has no target \"{}\"", term.spec.target);
}

Result<double> Objective::count(const Term& term, const octet::Tensor& labels) {
  if (term.numbers) {
    if (term.spec.kind != LossKind::kBinaryCrossEntropy) return static_cast<double>(labels.count());
    for (const float label : OCTET_TRY(labels.to_floats()))
      if (!(label >= 0 && label <= 1))
        return error("label {} is no 0 or 1, nor between them, which binary cross-entropy wants; "
                     "numbers are learned with --loss mean-square",
                     label);
    return static_cast<double>(labels.count());
  }
  // The labels themselves are what one column should be.
  const bool any_number = term.classes == 1 && term.spec.kind == LossKind::kMeanSquare;
  const int64_t classes = term.classes == 1 ? 2 : term.classes;
  int64_t counted = 0;
  for (const int64_t label : OCTET_TRY(labels.to_ints())) {
    if (label == term.spec.ignore_index) continue;
    if (!any_number && classes > 0 && (label < 0 || label >= classes))
      return error("label {} is out of range: the output \"{}\" tells {} classes apart, 0 .. {}; "
                   "give the data labels of this model, or train a model of more classes "
                   "(--classes N)",
                   label, term.name, classes, classes - 1);
    ++counted;
  }
  return static_cast<double>(counted);
}

Result<Objective::Labels> Objective::labels(const Batch& batch) const {
  Labels out;
  for (const Term& term : terms_) {
    const octet::Tensor* found = OCTET_TRY(target_of(term, batch));
    out.counts.push_back(OCTET_TRY(count(term, *found)));
    out.targets.push_back(OCTET_TRY(guarded([&]() -> Result<at::Tensor> {
      return to_torch(*found).to(term.numbers ? at::kFloat : at::kLong).reshape({-1});
    })));
  }
  return out;
}

Status Objective::learn_guessing(const Batch& some) {
  for (Term& term : terms_) {
    if (term.spec.kind != LossKind::kMeanSquare || (!term.numbers && term.classes != 1)) continue;
    const std::vector<double> values = OCTET_TRY(OCTET_TRY(target_of(term, some))->to_doubles());
    double sum = 0, squares = 0;
    for (const double v : values) {
      sum += v;
      squares += v * v;
    }
    const auto n = static_cast<double>(std::max<size_t>(1, values.size()));
    term.mean = sum / n;
    term.variance = std::max(0.0, squares / n - sum / n * (sum / n));
  }
  return ok_status();
}

TermRecord Objective::record(size_t term, double loss, double correct, int64_t labels) const {
  const Term& t = terms_[term];
  const double count = std::max<double>(1, static_cast<double>(labels));
  TermRecord out{t.name, loss / count, 0, labels};
  if (t.spec.kind == LossKind::kMeanSquare && (t.numbers || t.classes == 1)) {
    out.metric = TermMetric::kAbsoluteError;
    out.absolute_error = correct / count;
  } else {
    out.accuracy = correct / count;
  }
  return out;
}

double Objective::guessing() const {
  double sum = 0;
  for (const Term& term : terms_) {
    const auto classes = static_cast<double>(std::max<int64_t>(term.classes, 2));
    double loss = std::log(classes);
    if (term.spec.kind == LossKind::kBinaryCrossEntropy) loss = std::log(2.0);
    if (term.spec.kind == LossKind::kMeanSquare)
      loss = term.numbers || term.classes == 1 ? term.variance : 1;
    sum += term.spec.weight * loss;
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
  const auto& [spec, name, classes, numbers, mean, variance] = terms_[term];
  LossSum found;
  if (numbers) {
    TORCH_CHECK(output.numel() == targets.size(0), "the output \"", name, "\" of shape ",
                output.sizes(), " is ", output.numel(), " numbers, and the labels are ",
                targets.size(0), "; give each example as many labels as the output has numbers");
    found = loss_of_numbers(spec.kind, output, targets);
  } else {
    TORCH_CHECK(output.dim() >= 1 && output.numel() > 0 &&
                    (output.dim() == 1 ? output.numel() : output.numel() / output.size(-1)) ==
                        targets.size(0),
                "the output \"", name, "\" of shape ", output.sizes(),
                " does not hold classes for ", targets.size(0), " labels");
    const at::Tensor rows = output.dim() == 1 ? output.unsqueeze(1) : output;
    found = loss_of_classes(spec.kind, as_rows(rows), targets, spec.ignore_index, smoothing_);
  }
  sums.loss.push_back(found.loss);
  sums.correct.push_back(found.correct);
  return found.loss;
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

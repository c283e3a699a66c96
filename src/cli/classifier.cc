// SPDX-License-Identifier: Apache-2.0
#include "cli/classifier.h"

#include <cmath>
#include <filesystem>

#include "cli/loss.h"
#include "cli/models.h"
#include "core/atomic_file.h"
#include "core/format.h"
#include "core/string_util.h"

#include "octet/model_folder.h"

namespace octet::cli {
namespace {

constexpr size_t kMaxLabelFileBytes = size_t{16} << 20;

Result<std::vector<std::string>> labels_in(const std::string& path) {
  const std::string text = OCTET_TRY(read_file(path, kMaxLabelFileBytes));
  std::vector<std::string> out;
  for (const std::string_view line : split(text, '\n'))
    out.emplace_back(trim(line));
  while (!out.empty() && out.back().empty())
    out.pop_back();
  if (out.empty()) return error("{}: holds no names; write one a line", path);
  return out;
}

} // namespace

bool takes_texts(const Graph& graph) {
  const auto ids = graph.find_value("input_ids");
  if (ids && graph.value(*ids).kind == ValueKind::kInput) return true;
  if (graph.inputs().empty()) return false;
  const TypeInfo& type = graph.value(graph.inputs()[0]).type;
  return is_integer(type.type) && type.has_rank() && type.rank() == 2;
}

Result<Classifier> Classifier::open(const std::string& model,
                                    const std::string& executor,
                                    const std::string& labels,
                                    const Common& common) {
  OpenedModel opened = OCTET_TRY(open_executor(model, executor, common));
  Classifier out;
  out.model_ = model;
  out.graph_ = std::move(opened.graph);
  out.executor_ = std::move(opened.executor);
  out.kind_ = score_kind(out.graph_);
  out.classes_ =
      labels.empty() ? OCTET_TRY(class_names(out.graph_, model)) : OCTET_TRY(labels_in(labels));
  return out;
}

Status Classifier::name_classes(int64_t count) {
  if (classes_.empty()) classes_.resize(static_cast<size_t>(count));
  if (std::ssize(classes_) != count)
    return error("{}: has {} for {} classes; name others with --labels FILE, one a line", model_,
                 counted(std::ssize(classes_), "label"), count);
  for (int64_t c = 0; c < count; ++c)
    if (classes_[static_cast<size_t>(c)].empty())
      classes_[static_cast<size_t>(c)] = std::to_string(c);
  return ok_status();
}

Answers Classifier::answers_for(const Tensor& scores) const {
  const bool one_column = scores.rank() == 1 || scores.dim(1) == 1;
  switch (trained_loss(graph_).value_or(LossKind::kCrossEntropy)) {
  case LossKind::kMeanSquare: // also learns classes, which then have names
    return one_column || std::ssize(classes_) != scores.dim(1) ? Answers::kNumbers
                                                               : Answers::kClasses;
  case LossKind::kBinaryCrossEntropy:
    return one_column ? Answers::kClasses : Answers::kSeveral;
  default:
    return one_column && kind_ == ScoreKind::kLogits ? Answers::kNumbers : Answers::kClasses;
  }
}

Result<Tensor> Classifier::run(const Batch& batch) {
  const std::vector<Tensor> inputs = OCTET_TRY_WITH(bind_inputs(graph_, batch), model_);
  const std::vector<Tensor> outputs = OCTET_TRY_WITH(executor_->run(inputs), model_);
  const Tensor& scores = outputs.front();
  if (scores.rank() < 1 || scores.rank() > 2 || scores.count() == 0 ||
      scores.type() == DType::kString)
    return error("{}: its output \"{}\" is {} {}, no scores [n, classes] or numbers; octet run "
                 "writes what it computes",
                 model_, graph_.value(graph_.outputs()[0]).name, octet::name(scores.type()),
                 to_string(scores.shape()));
  answers_ = answers_for(scores);
  const int64_t n = scores.dim(0), columns = scores.count() / n;
  if (answers_ == Answers::kClasses && columns > 1) {
    OCTET_TRY(name_classes(columns));
    return probabilities(scores, kind_).with(model_);
  }
  const std::vector<double> values = OCTET_TRY_WITH(scores.to_doubles(), model_);
  std::vector<float> out;
  for (const double v : values) {
    const double p = kind_ == ScoreKind::kProbabilities ? v : 1 / (1 + std::exp(-v));
    if (answers_ == Answers::kClasses) out.push_back(static_cast<float>(1 - p));
    out.push_back(static_cast<float>(answers_ == Answers::kNumbers ? v : p));
  }
  const int64_t width = std::ssize(out) / n;
  if (answers_ != Answers::kNumbers) OCTET_TRY(name_classes(width));
  return Tensor::of<float>(Shape{n, width}, std::span<const float>(out));
}

} // namespace octet::cli

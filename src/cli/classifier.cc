// SPDX-License-Identifier: Apache-2.0
#include "cli/classifier.h"

#include <filesystem>

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
  if (count < 2)
    return error(
        "{}: its output \"{}\" has {} a row, no scores of classes; octet run writes what it "
        "computes",
        model_, graph_.value(graph_.outputs()[0]).name, counted(count, "number"));
  if (classes_.empty()) classes_.resize(static_cast<size_t>(count));
  if (std::ssize(classes_) != count)
    return error("{}: has {} for {} classes; name others with --labels FILE, one a line", model_,
                 counted(std::ssize(classes_), "label"), count);
  for (int64_t c = 0; c < count; ++c)
    if (classes_[static_cast<size_t>(c)].empty())
      classes_[static_cast<size_t>(c)] = std::to_string(c);
  return ok_status();
}

Result<Tensor> Classifier::run(const Batch& batch) {
  const std::vector<Tensor> inputs = OCTET_TRY_WITH(bind_inputs(graph_, batch), model_);
  const std::vector<Tensor> outputs = OCTET_TRY_WITH(executor_->run(inputs), model_);
  const Tensor& scores = outputs.front();
  if (scores.rank() != 2 || scores.type() == DType::kString)
    return error("{}: its output \"{}\" is {} {}, no scores [n, classes]; octet run writes what it "
                 "computes",
                 model_, graph_.value(graph_.outputs()[0]).name, octet::name(scores.type()),
                 to_string(scores.shape()));
  OCTET_TRY(name_classes(scores.dim(1)));
  return probabilities(scores, kind_).with(model_);
}

} // namespace octet::cli

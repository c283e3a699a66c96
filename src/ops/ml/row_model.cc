// SPDX-License-Identifier: Apache-2.0
#include "ops/ml/row_model.h"

#include <array>
#include <utility>

#include "core/codec.h"
#include "core/format.h"

namespace octet::ml {
namespace {

using ModelFn = Result<RowModel>(const Node&);
constexpr std::array<std::pair<std::string_view, ModelFn*>, 7> kModels = {{
    {"LinearClassifier", op_LinearClassifier::model},
    {"LinearRegressor", op_LinearRegressor::model},
    {"SVMClassifier", op_SVMClassifier::model},
    {"SVMRegressor", op_SVMRegressor::model},
    {"TreeEnsemble", op_TreeEnsemble::model},
    {"TreeEnsembleClassifier", op_TreeEnsembleClassifier::model},
    {"TreeEnsembleRegressor", op_TreeEnsembleRegressor::model},
}};

} // namespace

double RowView::operator[](size_t i) const {
  switch (type_) {
  case DType::kFloat32:
    return static_cast<double>(element<float>(data_, i));
  case DType::kFloat64:
    return element<double>(data_, i);
  case DType::kInt32:
    return static_cast<double>(element<int32_t>(data_, i));
  case DType::kInt64:
    return static_cast<double>(element<int64_t>(data_, i));
  default:
    return static_cast<double>(f16_to_float(element<uint16_t>(data_, i)));
  }
}

RowModel::Scored RowModel::score(const RowView& x, std::byte* memory) const {
  auto* const given = static_cast<Score*>(static_cast<void*>(memory));
  auto* const made = static_cast<double*>(static_cast<void*>(memory + votes * sizeof(Score)));
  const std::span scores(made, width);
  return {scores, row(x, scores, std::span(given, votes))};
}

void linear_scores(const RowView& row,
                   std::span<const float> weights,
                   std::span<const float> intercepts,
                   std::span<double> scores) {
  for (size_t k = 0; k < scores.size(); ++k) {
    double sum = intercepts.empty() ? 0 : static_cast<double>(intercepts[k]);
    for (size_t i = 0; i < row.size(); ++i)
      sum += row[i] * static_cast<double>(weights[k * row.size() + i]);
    scores[k] = sum;
  }
}

Result<RowModel> row_model(const Node& node) {
  for (const auto& [name, model] : kModels)
    if (node.op_type == name) return model(node);
  return error("{} is no model of rows", node.op_type);
}

Status check_columns(const RowModel& model, int64_t columns) {
  if (std::cmp_less(columns, model.columns))
    return error("the model asks for feature {} of rows with {}", model.columns - 1, columns);
  return ok_status();
}

Result<std::vector<Tensor>> run_rows(InferFn* infer, const EvalContext& ctx) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  const RowModel model = OCTET_TRY(row_model(ctx.node));
  const Tensor& x = ctx.inputs[0];
  const int64_t rows = x.rank() == 1 ? 1 : x.dim(0), columns = x.shape().back();
  OCTET_TRY(check_columns(model, columns));
  const auto pitch = static_cast<size_t>(bytes_for(x.type(), columns));
  std::vector<size_t> tops;
  std::vector<double> all, memory(model.bytes() / sizeof(double) + 1);
  for (int64_t r = 0; r < rows; ++r) {
    const RowView row(x.bytes().data() + static_cast<size_t>(r) * pitch, x.type(),
                      static_cast<size_t>(columns));
    const auto [scores, top] = model.score(row, std::as_writable_bytes(std::span(memory)).data());
    tops.push_back(top);
    all.insert(all.end(), scores.begin(), scores.end());
  }
  const OutputInfo& made = outputs.back();
  std::vector<Tensor> out;
  if (model.labels) out.push_back(OCTET_TRY(model.labels->tensor(tops)));
  out.push_back(OCTET_TRY(rounded(made.type.type, OCTET_TRY(shape_of(made)), all)));
  return out;
}

} // namespace octet::ml

// SPDX-License-Identifier: Apache-2.0
// Trees, linear models and support vectors of ai.onnx.ml: attributes are read once, rows run beside
// each other. The numbers are those of the reference. Labels of text and rows of support vectors
// allocate.
#include "ops/ml/row_model.h"

#include <algorithm>

#include "core/threads.h"
#include "runtime/slot.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

/// Rows whose scores have memory at the same time.
constexpr int64_t kMostRows = 1024;
constexpr size_t kMostMemory = size_t{1} << 20;

class RowModelStep final : public Step {
 public:
  RowModelStep(std::shared_ptr<const ml::RowModel> model,
               const Operand& x,
               std::span<const Operand> out)
      : model_(std::move(model)), x_(x.id), type_(x.type),
        rows_(x.shape.size() == 1 ? 1 : x.shape[0]), columns_(x.shape.back()),
        tops_(model_->labels ? out[0].id : -1) {
    const size_t scores = model_->labels ? 1 : 0;
    if (scores < out.size()) {
      y_ = out[scores].id;
      made_ = out[scores].type;
    }
    const auto fit = static_cast<int64_t>(kMostMemory / pitch());
    block_ = std::clamp(std::min(fit, rows_), int64_t{1}, kMostRows);
  }

  size_t shared_bytes() const override { return static_cast<size_t>(block_) * pitch(); }

  Result<StepEnd> run(Slots slots, std::byte* shared, ParallelFor& parallel) const override {
    const auto* x = at<const std::byte>(slots, x_);
    const auto row_bytes = bytes_for(type_, columns_);
    const bool texts = tops_ >= 0 && model_->labels->type() == DType::kString;
    std::vector<size_t> tops(texts ? static_cast<size_t>(rows_) : 0);
    for (int64_t first = 0; first < rows_; first += block_) {
      const int64_t count = std::min(block_, rows_ - first);
      parallel.run(count, grain_for(model_->ns), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t row = first + i;
          const ml::RowView view(x + row * row_bytes, type_, static_cast<size_t>(columns_));
          const auto [scores, top] = model_->score(view, shared + static_cast<size_t>(i) * pitch());
          write(scores, row, slots);
          if (texts)
            tops[static_cast<size_t>(row)] = top;
          else if (tops_ >= 0)
            at<int64_t>(slots, tops_)[row] = model_->labels->ints[top];
        }
      });
    }
    if (texts)
      string_at(slots[static_cast<size_t>(tops_)]) = OCTET_TRY(model_->labels->tensor(tops));
    return StepEnd::kDone;
  }

 private:
  size_t pitch() const { return std::max<size_t>(model_->bytes(), sizeof(double)); }

  void write(std::span<const double> scores, int64_t row, Slots slots) const {
    if (y_ < 0) return;
    const auto width = static_cast<int64_t>(scores.size());
    if (made_ == DType::kFloat64)
      std::copy(scores.begin(), scores.end(), at<double>(slots, y_) + row * width);
    else
      std::transform(scores.begin(), scores.end(), at<float>(slots, y_) + row * width,
                     [](double score) { return static_cast<float>(score); });
  }

  std::shared_ptr<const ml::RowModel> model_;
  int32_t x_;
  DType type_;
  int64_t rows_, columns_, block_ = 1;
  int32_t y_ = -1;
  DType made_ = DType::kFloat32;
  int32_t tops_;
};

} // namespace

Choice prepare_row_model(const PrepareContext& c) {
  if (!c.type(0).has_rank()) return Choice::refuse("row_model: a rank is not known");
  if (c.type(0).type == DType::kFloat16) return Choice::refuse("row_model: features are f16");
  Result<ml::RowModel> made = ml::row_model(c.node);
  if (!made.ok()) return Choice::refuse("row_model: " + made.error().text());
  auto model = std::make_shared<const ml::RowModel>(std::move(*made));
  auto bind = [model](std::span<const Operand> in,
                      std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    OCTET_TRY(ml::check_columns(*model, in[0].shape.back()));
    return std::unique_ptr<Step>(std::make_unique<RowModelStep>(model, in[0], out));
  };
  return {bind_with(std::move(bind)), "row_model", {}};
}

} // namespace octet::runtime

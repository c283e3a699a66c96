// SPDX-License-Identifier: Apache-2.0
// octet.native Positions and SegmentSum: where each row stands in its sequence, and the sums of the
// rows of each.
#include "ops/native/segments.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/threads.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

class PositionsStep final : public Step {
 public:
  PositionsStep(const Operand& offsets, const Operand& y)
      : offsets_(offsets.id), y_(y.id), count_(static_cast<size_t>(offsets.count())),
        rows_(y.count()) {}

  Result<StepEnd>
  run(Slots slots, std::byte* /*shared*/, ParallelFor& /*parallel*/) const override {
    const auto offsets = std::span(at<const int64_t>(slots, offsets_), count_);
    OCTET_TRY(native::check_offsets(offsets, rows_));
    auto* y = at<int64_t>(slots, y_);
    for (size_t i = 1; i < offsets.size(); ++i)
      std::iota(y + offsets[i - 1], y + offsets[i], int64_t{0});
    return StepEnd::kDone;
  }

 private:
  int32_t offsets_;
  int32_t y_;
  size_t count_;
  int64_t rows_;
};

constexpr int64_t kColumns = 64; // that one pass over the rows adds up
constexpr double kSumNs = 0.5;   // of an element

/// Sums of `count` columns of so many rows, `width` apart.
void sum_columns(const float* x, int64_t rows, int64_t width, int64_t count, float* y) {
  std::array<double, kColumns> sums{};
  for (int64_t row = 0; row < rows; ++row, x += width)
    for (int64_t k = 0; k < count; ++k)
      sums[static_cast<size_t>(k)] += static_cast<double>(x[k]);
  for (int64_t k = 0; k < count; ++k)
    y[k] = static_cast<float>(sums[static_cast<size_t>(k)]);
}

class SegmentSumStep final : public Step {
 public:
  SegmentSumStep(const Operand& x, const Operand& offsets, const Operand& y)
      : x_(x.id), offsets_(offsets.id), y_(y.id), count_(static_cast<size_t>(offsets.count())),
        rows_(x.shape[0]) {
    for (size_t i = 1; i < x.shape.size(); ++i)
      width_ *= x.shape[i];
  }

  Result<StepEnd> run(Slots slots, std::byte* /*shared*/, ParallelFor& parallel) const override {
    const auto offsets = std::span(at<const int64_t>(slots, offsets_), count_);
    OCTET_TRY(native::check_offsets(offsets, rows_));
    const auto* x = at<const float>(slots, x_);
    auto* y = at<float>(slots, y_);
    const int64_t segments = std::ssize(offsets) - 1;
    const int64_t blocks = (width_ + kColumns - 1) / kColumns;
    if (segments <= 0 || blocks <= 0) return StepEnd::kDone;
    const double ns =
        kSumNs * static_cast<double>(kColumns * rows_) / static_cast<double>(segments);
    parallel.run(segments * blocks, grain_for(ns), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto segment = static_cast<size_t>(i / blocks);
        const int64_t column = i % blocks * kColumns;
        sum_columns(x + offsets[segment] * width_ + column, offsets[segment + 1] - offsets[segment],
                    width_, std::min(kColumns, width_ - column), y + i / blocks * width_ + column);
      }
    });
    return StepEnd::kDone;
  }

 private:
  int32_t x_;
  int32_t offsets_;
  int32_t y_;
  size_t count_;
  int64_t rows_;
  int64_t width_ = 1;
};

} // namespace

Choice prepare_segment_sum(const PrepareContext& c) {
  if (!c.type(0).has_rank() || !c.type(1).has_rank())
    return Choice::refuse("segment_sum: a rank is not known");
  auto bind = [](std::span<const Operand> in,
                 std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    return std::unique_ptr<Step>(std::make_unique<SegmentSumStep>(in[0], in[1], out[0]));
  };
  return {bind_with(std::move(bind)), "segment_sum", {}};
}

Choice prepare_positions(const PrepareContext& c) {
  if (!c.type(0).has_rank() || !c.type(1).has_rank())
    return Choice::refuse("positions: a rank is not known");
  auto bind = [](std::span<const Operand> in,
                 std::span<const Operand> out) -> Result<std::unique_ptr<Step>> {
    return std::unique_ptr<Step>(std::make_unique<PositionsStep>(in[0], out[0]));
  };
  return {bind_with(std::move(bind)), "positions", {}};
}

} // namespace octet::runtime

// SPDX-License-Identifier: Apache-2.0
// X^T X of the rows X that a layer multiplies with its weights: all that the error of its output
// depends on when the weights change by D, as |X D|^2 = D^T (X^T X) D. Every fourth example goes
// into a matrix of its own, by which is judged what was fitted to the others.
#pragma once

#include <array>
#include <span>

#include "core/threads.h"
#include "quant/gram/layer_rows.h"
#include "quant/statistics/statistic.h"

namespace octet {

class Gram final : public Statistic {
 public:
  /// `workers` must outlive it.
  Gram(LayerRows rows, ParallelFor& workers);

  /// Errors also: a number that is not finite, with its index.
  Status observe(const Tensor& values, const Tensor* mask) override;
  /// Always an error: sums are rounded in the order of the data. How the data is cut into batches
  /// and how many threads work changes no bit.
  Status merge(const Statistic& other) override;
  /// `fitted` and `judged` f64 [groups, columns, columns], `rows` i64 [2].
  std::vector<std::pair<std::string, Tensor>> state() const override;
  int64_t bytes() const override { return bytes_for(rows_); }
  static int64_t bytes_for(const LayerRows& rows);

  const LayerRows& rows() const { return rows_; }
  enum class Part { kFitted, kJudged };
  /// [columns, columns] of a group. Where there were fewer than four examples, kJudged is kFitted.
  std::vector<double> matrix(Part part, int64_t group) const;
  int64_t row_count(Part part) const;

 private:
  static constexpr int64_t kTogether = 64; ///< rows that are added at a time
  struct Half {
    std::vector<double> sums;    ///< [groups][panels][columns in panels][kPanel]
    std::vector<double> waiting; ///< rows, [groups][panels][kTogether][kPanel]
    int64_t count = 0;           ///< of the waiting rows
    int64_t total = 0;           ///< rows
  };
  void
  add_row(Half& half, const LayerRows::Batch& batch, std::span<const float> example, int64_t place);
  void flush(Half& half);
  const Half& half(Part part) const;

  LayerRows rows_;
  ParallelFor& workers_;
  int64_t width_; ///< columns in panels
  int64_t examples_ = 0;
  std::array<Half, 2> halves_;
  std::vector<float> row_;
};

} // namespace octet

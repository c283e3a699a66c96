// SPDX-License-Identifier: Apache-2.0
// Compares the lowered graph with the literal one where no activation has stored codes: weights in
// 8 bits and layers that take the ranges of their inputs at every run. Each layer reads what the
// lowered graph made before it, so that only its own sums may round differently.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/progress.h"

#include "octet/executor.h"

namespace octet {

/// The output of one layer, or the activation that a layer takes the range of.
struct LayerDifference {
  std::string value;     ///< in the literal graph
  std::string operators; ///< from the layer's product to `value`: "MatMulInteger Cast Mul Add"
  int64_t elements = 0;  ///< compared
  int64_t differing = 0;
  double signal = 0, noise = 0; ///< sums of squares

  /// Signal over noise in decibels; infinite when all elements are equal.
  double sqnr_db() const;
  /// What the rounding of float sums explains: sums of a few thousand terms keep well above it, and
  /// one wrong code or scale falls below.
  bool explained() const;
};

class LayerComparison {
 public:
  /// `literal`: a graph with dynamic layers or weights behind DequantizeLinear; `lowered` as for
  /// LoweringComparison. Errors: a graph without such a layer, or that cannot be lowered.
  static Result<LayerComparison> create(const Graph& literal, const ExecutorFactory& lowered = {});
  LayerComparison(LayerComparison&&) noexcept;
  LayerComparison& operator=(LayerComparison&&) noexcept;
  ~LayerComparison();

  /// Runs both on one batch. kCancelled once `cancel` is raised.
  Status add(std::span<const Tensor> inputs, const CancelToken* cancel = nullptr);
  const std::vector<LayerDifference>& report() const;
  int64_t unexplained() const;

 private:
  struct Impl;
  explicit LayerComparison(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace octet

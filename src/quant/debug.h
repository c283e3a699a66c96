// SPDX-License-Identifier: Apache-2.0
// Compares the lowered integer graph with the literal Q/DQ graph, layer by layer on the same codes,
// and says of every difference where it comes from. Source: docs/numerics.md, "What the lowered
// graph may differ in".
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/progress.h"

#include "octet/executor.h"

namespace octet {

/// What became of the codes of one QuantizeLinear.
struct CodeDifferences {
  std::string value;         ///< output of QuantizeLinear in the literal graph
  int64_t elements = 0;      ///< compared
  int64_t differing = 0;     ///< sum of the four below
  int64_t ties = 0;          ///< one step, within the bound of the fused expression around a tie
  int64_t saturation = 0;    ///< one step at the end of the codes, within the same bound
  int64_t reassociation = 0; ///< one step, within the error of the literal graph's own float sums
  int64_t unexplained = 0;   ///< anything else: a bug
  double worst_distance = 0; ///< of a difference from its tie, in steps
  std::string example;       ///< the first unexplained one, with its numbers
};

class LoweringComparison {
 public:
  /// `literal`: a graph with Q/DQ. `lowered`: makes an executor that lowers the graph it is given
  /// (empty: lower(), run by the reference). Errors: a graph that cannot be lowered; kRefused for
  /// one without codes of activations, which LayerComparison takes.
  static Result<LoweringComparison> create(const Graph& literal,
                                           const ExecutorFactory& lowered = {});
  LoweringComparison(LoweringComparison&&) noexcept;
  LoweringComparison& operator=(LoweringComparison&&) noexcept;
  ~LoweringComparison();

  /// Runs both on one batch. Each layer of the literal graph reads the codes that the lowered one
  /// made before it, so that a difference counts once, where it arises. kCancelled once `cancel` is
  /// raised.
  Status add(std::span<const Tensor> inputs, const CancelToken* cancel = nullptr);
  const std::vector<CodeDifferences>& report() const;
  int64_t unexplained() const;

 private:
  struct Impl;
  explicit LoweringComparison(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

} // namespace octet

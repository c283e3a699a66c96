// SPDX-License-Identifier: Apache-2.0
// Plans measured: what a plan does to the outputs of the network on examples that are at hand.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "quant/held_back.h"
#include "quant/placement.h"

#include "octet/quantize.h"

namespace octet {

/// Takes what a plan makes of batch `batch`.
using OutputsOf = std::function<Status(size_t batch, std::span<const Tensor> outputs)>;

class PlanTrials {
 public:
  /// `prepared`: behind the steps of the stage `float`, with types; like `placement` it must
  /// outlive this. Empty `make`: the reference executor. `mask_input`: as QuantizeOptions.
  PlanTrials(const Graph& prepared,
             const Placement& placement,
             ExecutorFactory make,
             std::string mask_input)
      : prepared_(prepared), placement_(placement), make_(std::move(make)),
        mask_input_(std::move(mask_input)) {}

  const Graph& prepared() const { return prepared_; }
  const Placement& placement() const { return placement_; }

  /// The outputs' noise over power beside the float network's (OutputError). A plan by which nothing
  /// is quantized is the float network. Errors: a plan that cannot be applied.
  Result<double>
  error_of(const QuantizationPlan& plan, const HeldBack& examples, const OutputsOf& see = {});
  /// The same of a graph.
  Result<double> error_of(const Graph& graph, const HeldBack& examples, const OutputsOf& see = {});
  /// The quantized graph.
  Result<Graph> applied(const QuantizationPlan& plan) const;
  /// Fills in the float network's outputs.
  Status run_float(HeldBack& examples);

 private:
  const Tensor* mask_of(const HeldBack::Batch& batch) const;

  const Graph& prepared_;
  const Placement& placement_;
  ExecutorFactory make_;
  std::string mask_input_;
  std::unique_ptr<Executor> float_;  ///< kept, since the others share its packed weights
  std::unique_ptr<Executor> latest_; ///< likewise
};

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// What the networks of a search do and how fast they are on this machine.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/optimize_data.h"
#include "quant/search/search.h"

#include "octet/executor.h"
#include "octet/session.h"

namespace octet::cli {

struct MeterOptions {
  std::string target;
  CostBy costs = CostBy::kMeasured;
  bool texts = false;     ///< run without padding where the model allows it
  std::string mask_input; ///< as QuantizeOptions::mask_input
};

/// Measures networks beside a float one, all on the native executor. The graph and the data must
/// outlive it.
class Meter {
 public:
  /// Errors: the float network cannot run, examples that do not fit it.
  static Result<Meter> create(const Graph& graph,
                              const OptimizeData& data,
                              const MeterOptions& options,
                              const Common& common);

  /// Nullptr twice: the float network. Times are taken in turn with those of the float network, so
  /// that what else the machine does falls on both, and are given in its milliseconds. Errors:
  /// kRefused when the target does not take the network.
  Result<Measured> measure(const Graph* quantized, const Measured* as_float);
  Result<HeldOut> check(const Graph& quantized);

  /// What measured times depend on beside the network.
  std::string machine() const;

 private:
  Meter(const Graph& graph,
        const OptimizeData& data,
        const MeterOptions& options,
        const Common& common,
        Session session,
        std::vector<Tensor> example);

  struct Judged {
    std::vector<int64_t> labels, predictions;
    double noise = 0;
  };
  /// Runs a network over a part of the data. Empty `outputs`: they are kept; else compared.
  Result<Judged>
  judge(const Graph& network, const Dataset& data, std::vector<std::vector<Tensor>>& outputs) const;
  Status know_float(const Dataset& data,
                    std::optional<Judged>& judged,
                    std::vector<std::vector<Tensor>>& outputs) const;
  Result<std::unique_ptr<Executor>> executor(const Graph& network) const;
  Result<double> work(const Graph& network) const;
  Result<double> latency_ms(const Graph* quantized, const Measured* as_float);

  const Graph& graph_;
  const OptimizeData& data_;
  MeterOptions options_;
  const Common& common_;
  Session session_; ///< of the float network
  std::vector<Tensor> example_;
  std::optional<Judged> search_float_, held_out_float_;
  std::vector<std::vector<Tensor>> search_outputs_, held_out_outputs_;
};

} // namespace octet::cli

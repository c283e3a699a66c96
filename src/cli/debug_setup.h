// SPDX-License-Identifier: Apache-2.0
// The two models of octet debug, made ready to be looked at.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/debug_models.h"
#include "quant/see/pairs.h"

#include "octet/dataset.h"
#include "octet/quantize.h"

namespace octet::cli {

struct TwoModels {
  Graph original;  ///< the float model as it came
  Graph prepared;  ///< as plans speak of it, behind the steps of the stage `float`
  Graph quantized; ///< in Q and DQ, with the inputs in the order of `prepared`
  ModelPairs pairs;
  std::optional<QuantizationPlan> plan;
  std::string plan_from;     ///< its file
  bool plan_guessed = false; ///< it lay beside the file
  std::shared_ptr<const Dataset> data;
  std::string mask; ///< an input, or empty
};

/// Examples that tensors are looked at on.
int64_t examples_of(const DebugModels& options);
/// Errors: options that do not go together, places that cannot be written, models that are not a
/// float one and a quantized one of the same network (both are named), a plan of another.
Result<TwoModels> open_two_models(const DebugModels& options, const Common& common);

/// The first `count` examples, in batches of `batch` or of the size that the graph fixes, then as many
/// whole ones as there are, one at least. `seen` gets each batch. The graph must outlive it.
CalibrationSource first_examples(const Graph& graph,
                                 std::shared_ptr<const Dataset> data,
                                 int64_t count,
                                 int64_t batch,
                                 std::function<Status(const Batch&)> seen = {});

/// Multiply-adds of one of the `examples` that these inputs are, at least 1.
double work_of(const Graph& graph, std::span<const Tensor> inputs, int64_t examples);

} // namespace octet::cli

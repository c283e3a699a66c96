// SPDX-License-Identifier: Apache-2.0
// Quantization by the name of a target: its placement is found here and handed to src/quant/.
#include "octet/quantize.h"

#include <algorithm>

#include "quant/apply.h"
#include "quant/plan.h"
#include "targets/tables.h"

namespace octet {

Result<QuantizationPlan> plan_quantization(const Graph& graph,
                                           const CalibrationSource& source,
                                           const QuantizeOptions& options,
                                           int64_t samples) {
  const auto placement = OCTET_TRY_WITH(find_placement(options.target), "plan");
  if (!options.steps.empty() && options.mode == QuantMode::kStatic)
    return error("plan: steps take several passes over the data, and a source is read once; plan "
                 "with a data set");
  return make_plan(
      graph, *placement, [&]() -> Result<CalibrationSource> { return source; }, options, samples);
}

Result<QuantizationPlan>
plan_quantization(const Graph& graph, const Dataset& data, const QuantizeOptions& options) {
  const int64_t samples =
      options.samples <= 0 ? data.size() : std::min(options.samples, data.size());
  const auto placement = OCTET_TRY_WITH(find_placement(options.target), "plan");
  const auto open = [&]() -> Result<CalibrationSource> {
    return batches_of(graph, data, options.samples, options.batch_size);
  };
  return make_plan(graph, *placement, open, options, samples);
}

Result<Graph> quantize(const Graph& graph, const QuantizationPlan& plan, WeightStorage storage) {
  const auto placement = OCTET_TRY_WITH(find_placement(plan.target), "quantize");
  return apply_plan(graph, plan, *placement, storage);
}

Result<PlanMismatch> compare_plan(const Graph& graph, const QuantizationPlan& plan) {
  const auto placement = OCTET_TRY_WITH(find_placement(plan.target), "plan");
  return compare_plan_for(graph, plan, *placement);
}

Result<Graph> finalize_quantization(const Graph& trained, const QuantizationPlan& plan) {
  const auto placement = OCTET_TRY_WITH(find_placement(plan.target), "finalize");
  return store_trained(trained, plan, *placement);
}

} // namespace octet

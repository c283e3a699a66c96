// SPDX-License-Identifier: Apache-2.0
#include "quant/see/trials.h"

#include <algorithm>

#include "quant/apply.h"

namespace octet {

Result<Graph> PlanTrials::applied(const QuantizationPlan& plan) const {
  Graph out = prepared_;
  OCTET_TRY(apply_behind_ranges(out, plan, placement_, WeightStorage::kTarget));
  return out;
}

Result<double>
PlanTrials::error_of(const QuantizationPlan& plan, const HeldBack& examples, const OutputsOf& see) {
  const Graph quantized = OCTET_TRY(applied(plan));
  return error_of(quantized, examples, see);
}

Result<double>
PlanTrials::error_of(const Graph& graph, const HeldBack& examples, const OutputsOf& see) {
  // The one before shares its packed weights with this one.
  std::unique_ptr<Executor> executor =
      OCTET_TRY(make_ ? make_(graph) : make_reference_executor(graph));
  std::swap(executor, latest_);
  executor = nullptr;
  OutputError error;
  for (size_t b = 0; b < examples.batches.size(); ++b) {
    const HeldBack::Batch& batch = examples.batches[b];
    const std::vector<Tensor> outputs = OCTET_TRY(latest_->run(batch.inputs));
    error.add(batch.outputs, outputs, mask_of(batch));
    if (see) OCTET_TRY(see(b, outputs));
  }
  return error.mean();
}

Status PlanTrials::run_float(HeldBack& examples) {
  if (!float_) float_ = OCTET_TRY(make_ ? make_(prepared_) : make_reference_executor(prepared_));
  for (HeldBack::Batch& batch : examples.batches)
    batch.outputs = OCTET_TRY(float_->run(batch.inputs));
  return ok_status();
}

const Tensor* PlanTrials::mask_of(const HeldBack::Batch& batch) const {
  for (size_t i = 0; i < prepared_.inputs().size(); ++i)
    if (!mask_input_.empty() && prepared_.value(prepared_.inputs()[i]).name == mask_input_)
      return &batch.inputs[i];
  return nullptr;
}

} // namespace octet

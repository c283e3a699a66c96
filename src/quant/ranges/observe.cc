// SPDX-License-Identifier: Apache-2.0
#include "core/format.h"
#include "ops/infer.h"
#include "quant/calibrate.h"

#include "octet/ranges.h"

namespace octet {

Result<std::vector<TensorRange>>
observe_ranges(const Graph& graph, const Dataset& data, const QuantizeOptions& options) {
  if (std::holds_alternative<Auto>(options.calibrator))
    return error(
        "calibrate: auto compares quantized networks, and ranges alone make none; plan with "
        "it, and name the calibrator that the plan took");
  Graph typed = graph;
  OCTET_TRY_WITH(infer_types(typed), "calibrate");
  std::vector<ObserveRequest> requests;
  for (int32_t i = 0; i < typed.value_bound(); ++i) {
    const Value& value = typed.value(ValueId{i});
    const bool computed = value.kind == ValueKind::kNodeOutput && value.producer.valid() &&
                          typed.constant(value.id) == nullptr;
    const bool is_real = value.type.type == DType::kFloat32 || value.type.type == DType::kFloat16 ||
                         value.type.type == DType::kBfloat16;
    if (is_real && (computed || value.kind == ValueKind::kInput))
      requests.push_back({value.id, {DType::kInt8, true, false}});
  }
  if (requests.empty()) return error("calibrate: the graph computes no floats");
  const int64_t samples =
      options.samples <= 0 ? data.size() : std::min(options.samples, data.size());
  const Calibration seen = OCTET_TRY(
      calibrate(typed, requests, batches_of(typed, data, options.samples, options.batch_size),
                options, samples));
  std::vector<TensorRange> out;
  out.reserve(requests.size());
  for (const ObserveRequest& request : requests)
    out.push_back({typed.value(request.value).name, seen.values.at(request.value).range});
  return out;
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// What the float values of a graph hold, to tell which of them 16 bits cannot.
#include "ops/infer.h"
#include "quant/calibrate.h"

#include "octet/export.h"

namespace octet {

namespace {

/// Beyond it no layer computes: such numbers are masks, which are clamped.
constexpr double kMaskConstant = 1e30;

} // namespace

Result<std::map<std::string, Range>> precision_ranges(const Graph& graph,
                                                      const CalibrationSource& source,
                                                      const ExecutorFactory& executor) {
  Graph typed = graph;
  OCTET_TRY(infer_types(typed));
  std::vector<ObserveRequest> requests;
  for (const NodeId id : typed.nodes())
    for (const ValueId out : typed.node(id).outputs)
      if (out.valid() && typed.value(out).type.type == DType::kFloat32)
        requests.push_back({out, Scheme{}});
  for (const ValueId in : typed.inputs())
    if (typed.value(in).type.type == DType::kFloat32) requests.push_back({in, Scheme{}});
  QuantizeOptions how;
  how.executor = executor;
  const Calibration seen = OCTET_TRY(calibrate(typed, requests, source, how, 0));
  std::map<std::string, Range> out;
  for (const auto& [value, observation] : seen.values)
    if (observation.range.lo > -kMaskConstant && observation.range.hi < kMaskConstant)
      out[typed.value(value).name] = observation.range;
  return out;
}

} // namespace octet

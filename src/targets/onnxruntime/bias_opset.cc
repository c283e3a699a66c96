// SPDX-License-Identifier: Apache-2.0
// A float bias between DQ and Q below operator set 11: ONNX Runtime rounds it by Round when it loads
// the file, which came with that set. Source: docs/targets.md 8 (measured).
#include "targets/checks.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/releases.h"
#include "targets/onnxruntime/rules.h"

namespace octet::onnxruntime {

namespace {

constexpr int64_t kRoundSince = 11;

void find_bias_opset(const CheckContext& context, const Node& node, Found& found) {
  if (context.graph.opset() == 0 || context.graph.opset() >= kRoundSince) return;
  const auto prepared =
      onnxruntime_prepared_product(context.graph, context.uses, context.target, node);
  if (!prepared || prepared->bias == nullptr) return;
  found.add(node,
            "ONNX Runtime rounds its float bias when it loads the file, and fails: \"Error No Op "
            "registered for Round with domain_version of 10\"",
            "write the file for operator set 11 or a later one: octet repair does");
}

} // namespace

constexpr TargetRule kBiasOpset = {.id = "bias-opset",
                                   .clause = "8",
                                   .versions = {.since = kFloatBiasSince},
                                   .provider = Provider::kCpu,
                                   .find = find_bias_opset};

} // namespace octet::onnxruntime

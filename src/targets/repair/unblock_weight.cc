// SPDX-License-Identifier: Apache-2.0
//   stored codes ─▶ DQ(block_size)   =>   int8 codes ─▶ DQ, one scale for each output channel
// For blocks that TensorRT does not take: of int8, or of any type before version 10. The channels
// of a matrix are the axis that has no blocks; another weight gets one scale.
// scale' = largest magnitude / 127: not exact. Source: docs/targets.md 1.4.
#include <algorithm>
#include <cmath>

#include "passes/evaluate.h"
#include "targets/repair/recode.h"
#include "targets/repair/rules.h"

namespace octet {

std::optional<Repair> unblock_weight(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  if (!is_dequantize(node) || node.attr_int("block_size", 0) == 0) return std::nullopt;
  const Tensor* codes = graph.constant(node.input(0));
  if (codes == nullptr || !code_range(codes->type())) return std::nullopt;
  const bool taken = codes->type() == DType::kInt4 && context.target.version >= 1000;
  const auto values = taken ? std::nullopt : evaluate_constant(graph, node);
  if (!values) return std::nullopt;
  const Tensor& weight = values->front();
  const int64_t blocked = node.attr_int("axis", 1);
  Coding coding = int8_coding(1, weight.type());
  if (weight.rank() == 2 && graph.opset() >= 13) {
    coding.axis = blocked == 0 || blocked == -2 ? 1 : 0;
    coding.vector = true;
  }
  const int64_t channels = coding.vector ? weight.dim(coding.axis) : 1;
  std::vector<double> largest(static_cast<size_t>(channels), 0);
  const int64_t inner = coding.vector && coding.axis == 0 ? weight.dim(1) : 1;
  for (int64_t i = 0; i < weight.count(); ++i) {
    double& m = largest[static_cast<size_t>(i / inner % channels)];
    m = std::max(m, std::abs(weight.at(i)));
  }
  coding.scales.clear();
  for (const double m : largest)
    coding.scales.push_back(is_usable_scale(m / 127) ? as_float(m / 127) : 1);
  coding.zeros.assign(coding.scales.size(), 0);
  const auto recoded = recode(weight, coding);
  if (!recoded || !recoded->bounded) return std::nullopt;
  Patch patch(graph, "blocks of scales become one scale for each channel",
              recoded->error == 0 ? Exactness::kExact : Exactness::kInexact);
  patch.from(node);
  const std::string name = name_of(graph, node);
  patch.replace(
      node.output(0),
      emit_dequantize(patch, coding, patch.constant(name + "_codes", recoded->codes), name));
  return Repair{std::move(patch), recoded->error};
}

} // namespace octet

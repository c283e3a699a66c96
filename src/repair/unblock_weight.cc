// SPDX-License-Identifier: Apache-2.0
//   stored codes ─▶ DQ(block_size)   =>   int8 codes ─▶ DQ, one scale for each output channel
// For blocks that TensorRT does not take: of int8, or of any type before version 10. The channels
// of a matrix are the axis that has no blocks; another weight gets one scale.
// scale' = largest magnitude / 127: not exact. Source: docs/targets.md 1.4.
#include <algorithm>
#include <cmath>

#include "graph/label.h"
#include "ops/evaluate.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/site.h"
#include "repair/recode.h"
#include "repair/rules.h"

namespace octet {

std::optional<Repair> unblock_weight(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const qdq::Written says = qdq::written(graph, node);
  if (!is_dequantize(node) || says.block == 0) return std::nullopt;
  const Tensor* codes = graph.constant(says.codes);
  if (codes == nullptr || !code_range(codes->type())) return std::nullopt;
  const bool taken = codes->type() == DType::kInt4 && context.target.version >= 1000;
  const auto values = taken ? std::nullopt : evaluate_constant(graph, node);
  if (!values) return std::nullopt;
  const Tensor& weight = values->front();
  qdq::Grid grid = qdq::Grid::int8(1, weight.type());
  const bool vector = weight.rank() == 2 && graph.opset() >= 13;
  if (vector) grid.axis_written = says.axis == 0 || says.axis == -2 ? 1 : 0;
  const int64_t channels = vector ? weight.dim(grid.axis_written) : 1;
  std::vector<double> largest(static_cast<size_t>(channels), 0);
  const int64_t inner = vector && grid.axis_written == 0 ? weight.dim(1) : 1;
  for (int64_t i = 0; i < weight.count(); ++i) {
    double& m = largest[static_cast<size_t>(i / inner % channels)];
    m = std::max(m, std::abs(weight.at(i)));
  }
  std::vector<double> scales;
  for (const double m : largest)
    scales.push_back(qdq::is_usable_scale(m / 127) ? qdq::as_float(m / 127) : 1);
  const Shape shape = vector ? Shape{channels} : Shape{};
  grid.scale = Tensor::from_doubles(weight.type(), shape, scales).value();
  grid.zero = Tensor::zeros(DType::kInt8, shape).value();
  const auto recoded = recode(weight, grid);
  if (!recoded || !recoded->bounded) return std::nullopt;
  Patch patch(graph, "blocks of scales become one scale for each channel",
              recoded->error == 0 ? Exactness::kExact : Exactness::kInexact);
  patch.from(node);
  const std::string name = name_of(graph, node);
  patch.replace(
      node.output(0),
      qdq::emit_dequantize(patch, grid, patch.constant(name + "_codes", recoded->codes), name));
  return Repair{std::move(patch), recoded->error};
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
//   stored codes(u8, or i8 with zero points) ─▶ DQ   =>   int8 codes ─▶ DQ with zero point 0
//   float constant ─▶ Q(zero points) ─▶ DQ           =>   the same
// Exact where codes minus the zero point fit int8; a channel where they do not is coded anew with
// scale' = largest magnitude / 127. Source: docs/targets.md 1.1 rows 1 and 12, 6.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "graph/label.h"
#include "ops/evaluate.h"
#include "ops/qdq/emit.h"
#include "ops/qdq/site.h"
#include "repair/rules.h"

namespace octet {

namespace {

struct Symmetric {
  qdq::Grid grid;
  Tensor codes;
  double error = 0;
};

std::optional<Symmetric> symmetric(const Tensor& codes, const qdq::Grid& old) {
  const QuantLayout layout = old.layout(codes.shape());
  std::vector<double> values;
  std::vector<size_t> channel;
  std::vector<double> scales = old.scales();
  const std::vector<double> old_scales = scales, zeros = old.zeros();
  std::vector<double> lowest(scales.size(), 0), highest(scales.size(), 0);
  for (int64_t o = 0; o < layout.outer; ++o)
    for (int64_t a = 0; a < layout.axis_size; ++a)
      for (int64_t i = 0; i < layout.inner; ++i) {
        const auto c = static_cast<size_t>(layout.scale_index(o, a, i));
        values.push_back(codes.at(static_cast<int64_t>(values.size())) - zeros[c]);
        channel.push_back(c);
        lowest[c] = std::min(lowest[c], values.back());
        highest[c] = std::max(highest[c], values.back());
      }
  for (size_t c = 0; c < scales.size(); ++c)
    if (lowest[c] < -128 || highest[c] > 127)
      scales[c] = qdq::as_float(scales[c] * std::max(-lowest[c], highest[c]) / 127);
  Symmetric out;
  out.grid = old.with(scales).with(DType::kInt8, std::vector<double>(scales.size(), 0.0));
  for (size_t i = 0; i < values.size(); ++i) {
    const double was = old_scales[channel[i]], is = scales[channel[i]];
    const double code =
        was == is ? values[i] : std::clamp(std::nearbyint(values[i] * was / is), -127.0, 127.0);
    out.error = std::max(out.error, std::abs(values[i] * was - code * is));
    values[i] = code;
  }
  auto tensor = Tensor::from_doubles(DType::kInt8, codes.shape(), values);
  if (!tensor.ok()) return std::nullopt;
  out.codes = *tensor;
  return out;
}

bool has_no_zero_point(const qdq::Grid& grid) {
  const std::vector<double> zeros = grid.zeros();
  return std::all_of(zeros.begin(), zeros.end(), [](double z) { return z == 0; });
}

/// INT4 from TensorRT 10 on, of an even last dimension.
bool is_taken_int4(const RepairContext& context, const Tensor& weight, const qdq::Grid& grid) {
  return grid.codes == DType::kInt4 && context.target.version >= 1000 && weight.rank() > 0 &&
         weight.shape().back() % 2 == 0 && has_no_zero_point(grid);
}

} // namespace

std::optional<Repair> symmetric_weight(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const auto grid = qdq::grid_of(graph, node);
  if (!grid || !grid->code_range() || grid->is_symmetric()) return std::nullopt;
  const Tensor* weight = graph.constant(node.input(0));
  if (weight == nullptr || is_taken_int4(context, *weight, *grid)) return std::nullopt;
  std::vector<const Node*> readers = {&node};
  if (is_quantize(node)) {
    const auto found =
        qdq::dequantizers(graph, context.uses.of(node.output(0)), node.output(0), *grid);
    if (!found) return std::nullopt;
    readers = *found;
  }
  const auto codes = constant_value(graph, codes_of_qdq(node));
  if (!codes) return std::nullopt;
  const auto better = symmetric(*codes, *grid);
  if (!better) return std::nullopt;
  Patch patch(
      graph,
      better->error == 0
          ? "the weight's codes minus the zero point fit int8"
          : fmt::format("the weight is coded anew without a zero point (was {})", grid->zero_at(0)),
      better->error == 0 ? Exactness::kExact : Exactness::kInexact);
  patch.from(node);
  const ValueId stored = patch.constant(name_of(graph, node) + "_codes", better->codes);
  for (const Node* reader : readers)
    patch.replace(reader->output(0),
                  qdq::emit_dequantize(patch, better->grid, stored, name_of(graph, *reader)));
  return Repair{std::move(patch), better->error};
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
//   stored codes(u8, or i8 with zero points) ─▶ DQ   =>   int8 codes ─▶ DQ with zero point 0
//   float constant ─▶ Q(zero points) ─▶ DQ           =>   the same
// Exact where codes minus the zero point fit int8; a channel where they do not is coded anew with
// scale' = largest magnitude / 127. Source: docs/targets.md 1.1 rows 1 and 12, 6.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "passes/evaluate.h"
#include "targets/repair/coding.h"
#include "targets/repair/rules.h"

namespace octet {

namespace {

struct Symmetric {
  Coding coding;
  Tensor codes;
  double error = 0;
};

std::optional<Symmetric> symmetric(const Tensor& codes, const Coding& old) {
  const QuantLayout layout = quant_layout(codes.shape(), scale_tensor(old).shape(), old.axis, 0);
  std::vector<double> values;
  std::vector<size_t> channel;
  std::vector<double> lowest(old.scales.size(), 0), highest(old.scales.size(), 0);
  for (int64_t o = 0; o < layout.outer; ++o)
    for (int64_t a = 0; a < layout.axis_size; ++a)
      for (int64_t i = 0; i < layout.inner; ++i) {
        const auto c = static_cast<size_t>(layout.scale_index(o, a, i));
        values.push_back(codes.at(static_cast<int64_t>(values.size())) - old.zeros[c]);
        channel.push_back(c);
        lowest[c] = std::min(lowest[c], values.back());
        highest[c] = std::max(highest[c], values.back());
      }
  Symmetric out{old, {}, 0};
  out.coding.codes = DType::kInt8;
  for (size_t c = 0; c < old.scales.size(); ++c) {
    out.coding.zeros[c] = 0;
    if (lowest[c] < -128 || highest[c] > 127)
      out.coding.scales[c] = as_float(old.scales[c] * std::max(-lowest[c], highest[c]) / 127);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const double was = old.scales[channel[i]], is = out.coding.scales[channel[i]];
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

/// INT4 from TensorRT 10 on, of an even last dimension.
bool is_taken_int4(const RepairContext& context, const Tensor& weight, const Coding& coding) {
  return coding.codes == DType::kInt4 && context.target.version >= 1000 && weight.rank() > 0 &&
         weight.shape().back() % 2 == 0 &&
         std::all_of(coding.zeros.begin(), coding.zeros.end(), [](double z) { return z == 0; });
}

} // namespace

std::optional<Repair> symmetric_weight(const RepairContext& context, const Node& node) {
  const Graph& graph = context.graph;
  const auto coding = is_qdq(node) ? coding_of(graph, node) : std::nullopt;
  if (!coding || !code_range(coding->codes) || is_symmetric(*coding)) return std::nullopt;
  const Tensor* weight = graph.constant(node.input(0));
  if (weight == nullptr || is_taken_int4(context, *weight, *coding)) return std::nullopt;
  std::vector<const Node*> readers = {&node};
  if (is_quantize(node)) readers = dequantizers(context, node.output(0), *coding);
  const auto codes = constant_value(graph, codes_of_qdq(node));
  if (!codes || readers.empty()) return std::nullopt;
  const auto better = symmetric(*codes, *coding);
  if (!better) return std::nullopt;
  Patch patch(
      graph,
      better->error == 0
          ? "the weight's codes minus the zero point fit int8"
          : fmt::format("the weight is coded anew without a zero point (was {})", coding->zeros[0]),
      better->error == 0 ? Exactness::kExact : Exactness::kInexact);
  patch.from(node);
  const ValueId stored = patch.constant(name_of(graph, node) + "_codes", better->codes);
  for (const Node* reader : readers)
    patch.replace(reader->output(0),
                  emit_dequantize(patch, better->coding, stored, name_of(graph, *reader)));
  return Repair{std::move(patch), better->error};
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// Matching Q/DQ pairs.
#include "train/executor/qdq_pair.h"

#include <algorithm>

#include "ops/qdq/site.h"

namespace octet::train {
namespace {

/// The code type: of the zero point, else the attribute of later operator sets, else u8.
DType code_type(const Graph& graph, const Node& quantize) {
  if (const ValueId z = quantize.input(2); z.valid())
    return graph.value(z).type.type != DType::kUndefined ? graph.value(z).type.type
                                                         : graph.constant(z)->type();
  const int64_t type = quantize.attr_int("output_dtype", 0);
  return type == 0 ? DType::kUint8 : static_cast<DType>(type);
}

bool mirrors(const Graph& graph, const Node& quantize, const Node& dequantize) {
  return dequantize.is("DequantizeLinear") &&
         qdq::have_same_parameters(graph, quantize, dequantize) &&
         quantize.attr_int("axis", 1) == dequantize.attr_int("axis", 1) &&
         dequantize.attr_int("block_size", 0) == 0 && dequantize.attr_int("output_dtype", 0) == 0;
}

bool fill_spec(const Graph& graph, const Node& quantize, const Tensor& scale, QdqPair& pair) {
  FakeQuant& spec = pair.spec;
  spec.type = code_type(graph, quantize);
  if (!can_fake_quantize(spec.type)) return false;
  const size_t count = static_cast<size_t>(scale.count());
  std::vector<double> zeros(count, 0.0);
  if (const ValueId z = quantize.input(2); z.valid()) {
    const Tensor* zero = graph.constant(z);
    if (zero == nullptr || zero->count() != scale.count()) return false;
    const Result<std::vector<double>> values = zero->to_doubles();
    if (!values.ok()) return false;
    zeros = *values;
  }
  const auto [low, high] = train::code_range(spec.type);
  for (const double z : zeros) {
    spec.low.push_back(static_cast<float>(low - z));
    spec.high.push_back(static_cast<float>(high - z));
  }
  pair.symmetric = is_integer(spec.type) && is_signed(spec.type) &&
                   std::all_of(zeros.begin(), zeros.end(), [](double z) { return z == 0; });
  if (scale.count() == 1) return true;
  const TypeInfo& x = graph.value(quantize.inputs[0]).type;
  spec.axis = quantize.attr_int("axis", 1);
  if (spec.axis < 0 && x.has_rank()) spec.axis += x.rank();
  return scale.rank() == 1 && spec.axis >= 0 && x.has_rank() && spec.axis < x.rank();
}

} // namespace

std::optional<QdqPair> match_qdq_pair(const Graph& graph, const Uses& uses, const Node& quantize) {
  const ValueId code = quantize.output(0), scale_id = quantize.input(1);
  if (!code.valid() || !scale_id.valid() || graph.is_output(code)) return std::nullopt;
  const Tensor* scale = graph.constant(scale_id);
  if (scale == nullptr || quantize.attr_int("block_size", 0) != 0) return std::nullopt;
  if (graph.value(quantize.inputs[0]).type.type != scale->type()) return std::nullopt;
  QdqPair pair;
  pair.scale = scale_id;
  if (!fill_spec(graph, quantize, *scale, pair)) return std::nullopt;
  int scale_uses = 1;
  for (const Uses::Use& use : uses.of(code)) {
    const Node& node = graph.node(use.node);
    if (use.input != 0 || !mirrors(graph, quantize, node)) return std::nullopt;
    pair.dequantizers.push_back(node.id);
    const ValueId copy = node.inputs[1];
    if (copy == scale_id)
      ++scale_uses;
    else if (std::find(pair.scale_copies.begin(), pair.scale_copies.end(), copy) ==
             pair.scale_copies.end())
      pair.scale_copies.push_back(copy);
  }
  if (pair.dequantizers.empty()) return std::nullopt;
  pair.shared = uses.count(scale_id) != scale_uses;
  return pair;
}

} // namespace octet::train

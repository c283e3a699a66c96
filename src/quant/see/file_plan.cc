// SPDX-License-Identifier: Apache-2.0
#include "quant/see/file_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "graph/node_names.h"
#include "ops/op.h"
#include "ops/qdq/site.h"
#include "quant/scheme.h"

namespace octet {

namespace {

int bits_of(const CodeRange& codes) {
  return std::clamp(static_cast<int>(std::bit_width(static_cast<uint32_t>(codes.hi - codes.lo))), 2,
                    8);
}

bool is_symmetric_about_middle(const qdq::Grid& grid, int bits) {
  const double middle = grid.codes == DType::kUint8 ? std::ldexp(1.0, bits - 1) : 0;
  for (int64_t c = 0; c < grid.count(); ++c)
    if (grid.zero_at(c) != middle) return false;
  return true;
}

TensorPlan tensor_of(const std::string& value,
                     const qdq::Grid& grid,
                     const CodeRange& codes,
                     const Scheme& like) {
  TensorPlan out;
  out.value = value;
  out.algorithm = "file";
  out.scheme = with_bits(scheme_of({grid.codes}, like),
                         is_integer(grid.codes) ? bits_of(codes) : all_bits(grid.codes));
  out.scheme.symmetric =
      !is_integer(grid.codes) || is_symmetric_about_middle(grid, out.scheme.bits);
  if (!grid.per_tensor()) out.axis = grid.axis;
  for (int64_t c = 0; c < grid.count(); ++c) {
    const double scale = grid.scale_at(c);
    if (out.scheme.symmetric) {
      const Codes ends = reach(out.scheme);
      out.ranges.push_back({ends.lowest * scale, ends.highest * scale});
    } else {
      out.ranges.push_back(
          {(codes.lo - grid.zero_at(c)) * scale, (codes.hi - grid.zero_at(c)) * scale});
    }
  }
  return out;
}

/// A grid that a plan can say.
bool can_be_planned(const qdq::Grid& grid) {
  return grid.block == 0 &&
         (grid.codes == DType::kInt8 || grid.codes == DType::kUint8 ||
          grid.codes == DType::kFloat8E4M3FN || grid.codes == DType::kFloat8E5M2);
}

Placed rule_of(const Node& node, const NodePair& pair) {
  if (pair.weight && node.is("Gather")) return Placed::kEmbedding;
  if (pair.weight) return pair.inputs.empty() ? Placed::kWeightOnly : Placed::kProduct;
  if (moves_values(node)) return Placed::kMoves;
  if (pair.inputs.empty()) return Placed::kAbsorbed;
  return node.is("MatMul") ? Placed::kProductOfActivations : Placed::kAround;
}

} // namespace

QuantizationPlan
plan_of_file(const Graph& prepared, const ModelPairs& pairs, const Placement& placement) {
  QuantizationPlan out;
  out.target = placement.target;
  out.calibrator = "file";
  std::map<std::string, const ValuePair*> values;
  for (const ValuePair& value : pairs.values)
    if (value.grid && value.grid->per_tensor() && can_be_planned(*value.grid)) {
      values.emplace(value.value, &value);
      out.tensors.push_back(tensor_of(value.value, *value.grid, value.codes, Scheme{}));
    }
  std::map<std::string, bool> weights;
  for (const WeightPair& weight : pairs.weights)
    if (can_be_planned(weight.grid)) {
      weights.emplace(weight.value, true);
      out.tensors.push_back(tensor_of(weight.value, weight.grid, weight.codes, placement.weight));
    }
  std::map<NodeId, const NodePair*> coded;
  for (const NodePair& pair : pairs.nodes)
    coded.emplace(pair.in_float, &pair);
  bool activations = false;
  const std::vector<NodeId> order = prepared.topological().value();
  for (const NodeId id : order) {
    const Node& node = prepared.node(id);
    NodePlan plan;
    plan.node = node.name;
    plan.op = node.op_type;
    plan.why = "the file has it in float";
    const auto found = coded.find(id);
    if (found != coded.end()) {
      const NodePair& pair = *found->second;
      const auto planned = [&](ValueId value) {
        return value.valid() && values.contains(prepared.value(value).name);
      };
      for (const size_t i : pair.inputs)
        if (planned(node.input(i))) plan.inputs.push_back(static_cast<int64_t>(i));
      if (pair.weight && weights.contains(prepared.value(node.input(*pair.weight)).name))
        plan.weight = static_cast<int64_t>(*pair.weight);
      plan.output = pair.output && planned(node.output(0));
      plan.int32_bias = pair.int32_bias;
      plan.quantized = !plan.inputs.empty() || plan.weight || plan.output;
      activations = activations || !plan.inputs.empty() || plan.output;
      if (plan.quantized) {
        plan.rule = rule_of(node, pair);
        plan.why = "the file has it in codes";
      }
    }
    out.nodes.push_back(std::move(plan));
  }
  if (!activations) out.mode = QuantMode::kWeightOnly;
  // Codes that are only moved keep their grid when the source's is changed.
  const NodeNames nodes(prepared);
  for (const NodePlan& plan : out.nodes) {
    if (plan.rule != Placed::kMoves || !plan.output) continue;
    const Node& node = prepared.node(*nodes.find(plan.node));
    const auto from = values.find(prepared.value(node.input(0)).name);
    const auto to = values.find(prepared.value(node.output(0)).name);
    if (from == values.end() || to == values.end() ||
        !qdq::same(*from->second->grid, *to->second->grid, qdq::Same::kNumbers))
      continue;
    for (TensorPlan& tensor : out.tensors)
      if (tensor.value == to->first) tensor.algorithm = "same as " + from->first;
  }
  return out;
}

FileStyle file_style(const Graph& quantized, const ModelPairs& pairs) {
  for (const WeightPair& weight : pairs.weights) {
    const Node* dequantize = quantized.producer(weight.in_quantized);
    const Node* maker = dequantize != nullptr ? quantized.producer(dequantize->input(0)) : nullptr;
    if (maker != nullptr) return FileStyle::kFloatWeights;
  }
  const bool biases = std::any_of(pairs.nodes.begin(), pairs.nodes.end(),
                                  [](const NodePair& pair) { return pair.int32_bias; });
  return biases ? FileStyle::kInt32Biases : FileStyle::kStoredWeights;
}

} // namespace octet

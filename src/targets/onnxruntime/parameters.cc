// SPDX-License-Identifier: Apache-2.0
// Source: docs/targets.md 8 (measured with ONNX Runtime 1.31, every input by itself as [1] and
// [1, 1]).
#include "targets/onnxruntime/parameters.h"

#include <algorithm>
#include <string_view>

#include "targets/checks.h"
#include "targets/onnxruntime/load.h"
#include "targets/onnxruntime/releases.h"

namespace octet {

namespace {

struct Limit {
  std::string_view op;
  int64_t rank; ///< the most axes
  std::vector<size_t> inputs;
};

const std::vector<Limit>& standard_limits() {
  static const std::vector<Limit> limits = {
      {"QuantizeLinear", 1, {1, 2}},
      {"DequantizeLinear", 1, {1, 2}},
      {"QLinearMatMul", 1, {1, 2, 6, 7}},
      {"MatMulInteger", 1, {2}},
  };
  return limits;
}

const std::vector<Limit>& microsoft_limits() {
  static const std::vector<Limit> limits = {
      {"QuantizeLinear", 1, {1, 2}},
      {"DequantizeLinear", 1, {1, 2}},
      {"QLinearAdd", 0, {1, 2, 4, 5, 6, 7}},
      {"QLinearMul", 0, {1, 2, 4, 5, 6, 7}},
      {"QLinearAveragePool", 0, {1, 2, 3, 4}},
      {"QLinearGlobalAveragePool", 1, {1, 2, 3, 4}},
      {"QLinearSigmoid", 1, {1, 2, 3, 4}},
      {"QLinearLeakyRelu", 1, {1, 2, 3, 4}},
      {"QLinearSoftmax", 1, {1}},
      {"QLinearConcat", 1, {0, 1}},
      {"MatMulIntegerToFloat", 1, {4}},
      {"QGemm", 1, {1, 2, 4, 5, 7, 8}},
  };
  return limits;
}

/// The rank of an input of one element; 0 of any other.
int64_t rank_of_one(const Graph& graph, const Node& node, size_t input) {
  if (!node.input(input).valid() || static_count(graph, node.input(input)) != 1) return 0;
  const TypeInfo& type = graph.value(node.input(input)).type;
  return type.has_rank() ? type.rank() : 0;
}

/// Of a Q or DQ with one scale.
bool has_an_axis(const Graph& graph, const Node& node) {
  return static_count(graph, node.input(1)) == 1 &&
         (rank_of_one(graph, node, 1) > 0 || rank_of_one(graph, node, 2) > 0);
}

} // namespace

std::vector<NodeId> onnxruntime_shaped_around(const Graph& graph,
                                              const Uses& uses,
                                              const TargetDef& target,
                                              const Node& node) {
  if (is_cuda(target) || (!node.is("Add") && !node.is("Mul") && !node.is("AveragePool"))) return {};
  std::vector<NodeId> out;
  for (const ValueId in : node.inputs) {
    const Node* dq = in.valid() ? onnxruntime_dequantize_before(graph, uses, in) : nullptr;
    if (dq == nullptr) return {}; // it stays in float
    if (has_an_axis(graph, *dq)) out.push_back(dq->id);
  }
  // Files are full of layers that this does not concern: the fusion is replayed for few.
  const Node* behind = onnxruntime_quantize_behind(graph, uses, node);
  if (behind == nullptr || (out.empty() && !has_an_axis(graph, *behind))) return {};
  if (onnxruntime_form(graph, target, node) != OnnxRuntimeForm::kQLinear) return {};
  if (has_an_axis(graph, *behind)) out.push_back(behind->id);
  return out;
}

std::vector<size_t> onnxruntime_shaped_parameters(const Graph& graph, const Node& node) {
  if (!node.domain.empty() && node.domain != kMicrosoft) return {};
  const std::vector<Limit>& limits = node.domain.empty() ? standard_limits() : microsoft_limits();
  const auto found = std::find_if(limits.begin(), limits.end(),
                                  [&](const Limit& limit) { return limit.op == node.op_type; });
  if (found == limits.end() || node.attr_int("block_size", 0) != 0) return {};
  std::vector<size_t> inputs;
  for (const size_t input : found->inputs)
    if (rank_of_one(graph, node, input) > found->rank) inputs.push_back(input);
  // QGemm wants one shape for the scale and the zero point of its weights.
  if (node.is("QGemm", kMicrosoft) && inputs.empty() && node.input(5).valid() &&
      static_count(graph, node.input(4)) == 1 && static_count(graph, node.input(5)) == 1 &&
      rank_of_one(graph, node, 4) != rank_of_one(graph, node, 5))
    inputs.push_back(rank_of_one(graph, node, 4) > 0 ? 4 : 5);
  return inputs;
}

} // namespace octet

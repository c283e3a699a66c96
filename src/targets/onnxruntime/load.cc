// SPDX-License-Identifier: Apache-2.0
#include "targets/onnxruntime/load.h"

#include <algorithm>

#include "core/format.h"
#include "ops/evaluate.h"
#include "ops/qdq/bias.h"
#include "targets/checks.h"
#include "targets/onnxruntime/codes.h"
#include "targets/onnxruntime/releases.h"

namespace octet {

namespace {

/// What alone reads a value, which is no graph output; null: nothing does.
const Node* lone_reader(const Graph& graph, const Uses& uses, ValueId value) {
  const NodeId reader = uses.single_consumer(value);
  return reader.valid() ? &graph.node(reader) : nullptr;
}

/// Stored codes, and those of a stored float tensor, are folded with what moves them.
bool are_folded(const Graph& graph, ValueId codes) {
  if (graph.constant(codes) != nullptr) return true;
  const Node* maker = graph.producer(codes);
  return maker != nullptr && is_quantize(*maker) && graph.constant(maker->input(0)) != nullptr;
}

/// The last operator that a DQ moves past on its way from `first`, behind which one reader gets the
/// codes: those for several stay int8. Null: there is none.
const Node* last_of_moves(const Graph& graph, const Uses& uses, const Node& first, int hops) {
  if (hops == 0 || !onnxruntime_reaches_readers(graph, uses, first.output(0))) return nullptr;
  const bool alone = uses.count(first.output(0)) == 1;
  for (const Uses::Use& use : uses.of(first.output(0))) {
    const Node& next = graph.node(use.node);
    const bool moves = use.input == 0 && onnxruntime_moves_codes_past(next);
    if (use.input == 0 && onnxruntime_reshapes_gemm(graph, uses, next)) return &first;
    const Node* last = moves ? last_of_moves(graph, uses, next, hops - 1) : nullptr;
    if (last != nullptr) return last;
    // It moves on, and what it moves to stays int8.
    if (moves && alone && onnxruntime_reaches_readers(graph, uses, next.output(0))) return nullptr;
  }
  return alone ? &first : nullptr;
}

} // namespace

const Node* onnxruntime_gemm_bias(const Graph& graph, const Uses& uses, const Node& node) {
  if (!node.is("MatMul")) return nullptr;
  const TypeInfo& a = graph.value(node.input(0)).type;
  const TypeInfo& b = graph.value(node.input(1)).type;
  if (!a.has_rank() || !b.has_rank() || b.rank() != 2) return nullptr;
  const Node* add = lone_reader(graph, uses, node.output(0));
  if (add == nullptr || !add->is("Add")) return nullptr;
  const ValueId bias = add->input(add->input(0) == node.output(0) ? 1 : 0);
  const auto shape = graph.value(bias).type.static_shape();
  const auto columns = (*b.shape)[1].maybe_value();
  if (!shape || !columns || shape->empty() || shape->back() != *columns) return nullptr;
  if (a.rank() != 2) return a.static_shape() && shape->size() == 1 ? add : nullptr;
  const bool rows =
      shape->size() == 2 && (shape->front() == 1 || (*a.shape)[0] == Dim(shape->front()));
  return shape->size() == 1 || rows ? add : nullptr;
}

bool onnxruntime_reshapes_gemm(const Graph& graph, const Uses& uses, const Node& node) {
  return onnxruntime_gemm_bias(graph, uses, node) != nullptr &&
         graph.value(node.input(0)).type.rank() != 2;
}

const Node* onnxruntime_dequantize_before(const Graph& graph, const Uses& uses, ValueId value) {
  const Node* maker = graph.producer(value);
  bool turned = true;
  for (int hops = 0;
       hops < kMostMovesOfCodes && maker != nullptr && onnxruntime_moves_codes_past(*maker);
       ++hops) {
    if (!onnxruntime_reaches_readers(graph, uses, maker->output(0))) return nullptr;
    turned = turned && onnxruntime_moves_constants_past(*maker);
    maker = graph.producer(maker->input(0));
  }
  if (maker == nullptr || !is_dequantize(*maker)) return nullptr;
  return turned || !are_folded(graph, maker->input(0)) ? maker : nullptr;
}

const Node* onnxruntime_quantize_behind(const Graph& graph, const Uses& uses, const Node& node) {
  ValueId value = node.output(0);
  for (int hops = 0; hops < kMostMovesOfCodes && value.valid(); ++hops) {
    const Node* reader = lone_reader(graph, uses, value);
    if (reader == nullptr || is_quantize(*reader)) return reader;
    if (!onnxruntime_moves_codes_past(*reader) && !reader->is("Relu") && !reader->is("Clip"))
      return nullptr;
    value = reader->output(0);
  }
  return nullptr;
}

std::optional<int64_t> static_count(const Graph& graph, ValueId value) {
  if (!value.valid()) return std::nullopt;
  const auto shape = graph.value(value).type.static_shape();
  const auto count = shape ? element_count(*shape) : Result<int64_t>(error("not known"));
  return count.ok() ? std::optional(*count) : std::nullopt;
}

std::optional<MovedCodes>
onnxruntime_moved_int8(const Graph& graph, const Uses& uses, const Node& node) {
  const bool gemm = onnxruntime_reshapes_gemm(graph, uses, node);
  if (graph.opset() < 21 || (!gemm && !onnxruntime_moves_codes_past(node))) return std::nullopt;
  const Node* dq = graph.producer(node.input(0));
  if (dq == nullptr || !is_dequantize(*dq)) return std::nullopt;
  const qdq::Written said = qdq::written(graph, *dq);
  if (!said.zero.valid() || said.codes_type != DType::kInt8 || are_folded(graph, said.codes))
    return std::nullopt;
  if (said.scales != nullptr && said.scales->count() != 1) return std::nullopt;
  if (gemm) return MovedCodes{dq};
  const Node* last = last_of_moves(graph, uses, node, kMostMovesOfCodes);
  return last != nullptr ? std::optional(MovedCodes{dq, last}) : std::nullopt;
}

const Node* onnxruntime_half_concat(const Graph& graph, const Uses& uses, const Node& concat) {
  if (!concat.is("Concat") || graph.value(concat.output(0)).type.type != DType::kFloat16)
    return nullptr;
  const Node* reader = lone_reader(graph, uses, concat.output(0));
  for (int hops = 0;
       hops < kMostMovesOfCodes && reader != nullptr && onnxruntime_moves_codes_past(*reader);
       ++hops)
    reader = lone_reader(graph, uses, reader->output(0));
  if (reader == nullptr || !is_quantize(*reader)) return nullptr;
  const bool all = std::all_of(concat.inputs.begin(), concat.inputs.end(), [&](ValueId in) {
    return onnxruntime_dequantize_before(graph, uses, in) != nullptr;
  });
  return all ? reader : nullptr;
}

bool onnxruntime_keeps_output_type(const Graph& graph, const Uses& uses, const Node& quantize) {
  if (!is_quantize(quantize) || !quantize.has_attr("output_dtype")) return false;
  const qdq::Written said = qdq::written(graph, quantize);
  if (!said.zero.valid() || said.codes_type != DType::kInt8) return false;
  if (said.scales != nullptr && said.scales->count() != 1) return false;
  const Node* reader = lone_reader(graph, uses, said.codes);
  return reader != nullptr && is_dequantize(*reader) && uses.count(reader->output(0)) <= 1;
}

ValueId onnxruntime_misread_bias(const Graph& graph,
                                 const Uses& uses,
                                 const TargetDef& target,
                                 const Node& node) {
  if (is_cuda(target)) return {};
  ValueId bias;
  if (node.is("Conv") || node.is("Gemm"))
    bias = node.input(2);
  else if (const Node* add = onnxruntime_gemm_bias(graph, uses, node))
    bias = add->input(add->input(0) == node.output(0) ? 1 : 0);
  if (!bias.valid()) return {};
  const auto scale = [&](size_t input) -> const Tensor* {
    const Node* dq = onnxruntime_dequantize_before(graph, uses, node.input(input));
    return dq != nullptr ? qdq::written(graph, *dq).scales : nullptr;
  };
  const Tensor *x = scale(0), *w = scale(1);
  if (x == nullptr || x->count() != 1 || w == nullptr) return {};
  const auto counted =
      qdq::bias_in_steps(graph, bias, qdq::sum_steps(x->at(0), w->to_doubles().value()));
  if (!counted || counted->are_stored()) return {};
  // Files are full of layers that this does not concern: the fusion is replayed for few.
  const OnnxRuntimeForm form = onnxruntime_form(graph, target, node);
  return form == OnnxRuntimeForm::kQLinear || form == OnnxRuntimeForm::kQGemm ? bias : ValueId{};
}

std::optional<size_t> onnxruntime_wide_zero_point(const Graph& graph, const Node& node) {
  const bool convolution = node.is("ConvInteger");
  if (!convolution && !node.is("MatMulInteger")) return std::nullopt;
  for (const size_t i : {size_t{2}, size_t{3}}) {
    if (!node.input(i).valid() || (i == 3 && !convolution)) continue;
    if (static_count(graph, node.input(i)).value_or(1) != 1) return i;
  }
  return std::nullopt;
}

} // namespace octet

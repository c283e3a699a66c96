// SPDX-License-Identifier: Apache-2.0
#include "targets/multiply_adds.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "graph/domains.h"
#include "ops/native/recurrent.h"

namespace octet {

namespace {

int64_t times(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? std::numeric_limits<int64_t>::max() : out;
}

int64_t plus(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? std::numeric_limits<int64_t>::max() : out;
}

int64_t dim(const TypeInfo& type, int64_t axis) {
  if (!type.has_rank() || axis < 0 || axis >= type.rank()) return 1;
  return (*type.shape)[static_cast<size_t>(axis)].maybe_value().value_or(1);
}

int64_t volume(const TypeInfo& type, int64_t from = 0) {
  int64_t out = 1;
  for (int64_t axis = from; type.has_rank() && axis < type.rank(); ++axis)
    out = times(out, dim(type, axis));
  return out;
}

constexpr std::string_view kProducts[] = {"Gemm",
                                          "MatMul",
                                          "MatMulInteger",
                                          "QLinearMatMul",
                                          "QGemm",
                                          "QMatMul",
                                          "QDynamicGemm",
                                          "DynamicQuantizeMatMul",
                                          "MatMulIntegerToFloat",
                                          "MatMulNBits",
                                          "FusedGemm",
                                          "FusedMatMul",
                                          "CodedGemm"};

/// com.microsoft's Attention of x [batch, length, width] and w [width, 3 widths].
int64_t of_projections(const TypeInfo& x, const TypeInfo& w) {
  return times(volume(x), dim(w, 1));
}

/// The two products around its softmax.
int64_t around_softmax(const TypeInfo& x, const TypeInfo& w) {
  const int64_t scores = times(times(dim(x, 0), times(dim(x, 1), dim(x, 1))), dim(w, 1) / 3);
  return times(2, scores);
}

bool is_attention(const Node& node) {
  return node.op_type == "QAttention" || node.is("Attention", kMicrosoft);
}

const TypeInfo& type_of(const Graph& graph, ValueId id) {
  static const TypeInfo unknown;
  return id.valid() ? graph.value(id).type : unknown;
}

/// Weights of a recurrent layer, W or R of all directions, each at every step of every sequence.
int64_t at_every_step(const Graph& graph, const Node& node, size_t weights) {
  if (!node.input(weights).valid()) return 0; // W, where sums of x come in
  const TypeInfo& x = type_of(graph, node.input(0));
  return times(times(dim(x, 0), dim(x, 1)), volume(type_of(graph, node.input(weights))));
}

} // namespace

int64_t multiply_adds(const Graph& graph, const Node& node) {
  const auto type = [&](ValueId id) -> const TypeInfo& { return type_of(graph, id); };
  const TypeInfo& y = type(node.output(0));
  const std::string_view op = node.op_type;
  if (op == "Conv" || op == "ConvInteger" || op == "FusedConv")
    return times(volume(y), volume(type(node.input(1)), 1)); // [O, I/groups, taps...]
  if (node.is("QConv", kNative)) return times(volume(y), volume(type(node.input(1)), 1));
  if (op == "QLinearConv") return times(volume(y), volume(type(node.input(3)), 1));
  if (op == "ConvTranspose")
    return times(volume(type(node.input(0))), volume(type(node.input(1)), 1));
  if (is_attention(node)) {
    const TypeInfo &x = type(node.input(0)), &w = type(node.input(1));
    return plus(of_projections(x, w), around_softmax(x, w));
  }
  if (native::recurrent_kind(op) != nullptr || node.is("DynamicQuantizeLSTM", kMicrosoft))
    return plus(at_every_step(graph, node, 1), at_every_step(graph, node, 2));
  if (node.is("QLSTM", kNative)) return at_every_step(graph, node, 1);
  const TypeInfo& a = type(node.input(0));
  const bool columns = node.attr_int("transA", 0) != 0;
  if (std::find(std::begin(kProducts), std::end(kProducts), op) != std::end(kProducts))
    return times(volume(y), dim(a, a.has_rank() ? a.rank() - (columns ? 2 : 1) : 0));
  return 0;
}

int64_t float_multiply_adds(const Graph& graph, const Node& node) {
  if (is_attention(node))
    return around_softmax(type_of(graph, node.input(0)), type_of(graph, node.input(1)));
  return native::recurrent_kind(node.op_type) != nullptr ? at_every_step(graph, node, 2) : 0;
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "targets/multiply_adds.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "graph/domains.h"

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

/// com.microsoft's Attention of x [batch, length, width] and w [width, 3 widths]: the projections,
/// and the two products of the softmax.
int64_t of_attention(const TypeInfo& x, const TypeInfo& w) {
  const int64_t projections = times(volume(x), dim(w, 1));
  const int64_t scores = times(times(dim(x, 0), times(dim(x, 1), dim(x, 1))), dim(w, 1) / 3);
  return plus(projections, times(2, scores));
}

} // namespace

int64_t multiply_adds(const Graph& graph, const Node& node) {
  const auto type = [&](ValueId id) -> const TypeInfo& {
    static const TypeInfo unknown;
    return id.valid() ? graph.value(id).type : unknown;
  };
  const TypeInfo& y = type(node.output(0));
  const std::string_view op = node.op_type;
  if (op == "Conv" || op == "ConvInteger" || op == "FusedConv")
    return times(volume(y), volume(type(node.input(1)), 1)); // [O, I/groups, taps...]
  if (node.is("QConv", kNative)) return times(volume(y), volume(type(node.input(1)), 1));
  if (op == "QLinearConv") return times(volume(y), volume(type(node.input(3)), 1));
  if (op == "ConvTranspose")
    return times(volume(type(node.input(0))), volume(type(node.input(1)), 1));
  if (op == "QAttention" || node.is("Attention", kMicrosoft))
    return of_attention(type(node.input(0)), type(node.input(1)));
  const TypeInfo& a = type(node.input(0));
  const bool columns = node.attr_int("transA", 0) != 0;
  if (std::find(std::begin(kProducts), std::end(kProducts), op) != std::end(kProducts))
    return times(volume(y), dim(a, a.has_rank() ? a.rank() - (columns ? 2 : 1) : 0));
  return 0;
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "targets/work.h"

#include <limits>

namespace octet {

namespace {

int64_t times(int64_t a, int64_t b) {
  int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? std::numeric_limits<int64_t>::max() : out;
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

} // namespace

int64_t multiply_adds(const Graph& graph, const Node& node) {
  const auto type = [&](ValueId id) -> const TypeInfo& {
    static const TypeInfo unknown;
    return id.valid() ? graph.value(id).type : unknown;
  };
  const TypeInfo& y = type(node.output(0));
  if (node.op_type == "Conv" || node.op_type == "ConvInteger")
    return times(volume(y), volume(type(node.input(1)), 1)); // [O, I/groups, taps...]
  if (node.op_type == "QLinearConv") return times(volume(y), volume(type(node.input(3)), 1));
  if (node.op_type == "ConvTranspose")
    return times(volume(type(node.input(0))), volume(type(node.input(1)), 1));
  const TypeInfo& a = type(node.input(0));
  const bool columns = node.op_type == "Gemm" && node.attr_int("transA", 0) != 0;
  if (node.op_type == "Gemm" || node.op_type == "MatMul" || node.op_type == "MatMulInteger" ||
      node.op_type == "QLinearMatMul" || node.op_type == "QGemm" ||
      node.op_type == "MatMulIntegerToFloat" || node.op_type == "FusedMatMul")
    return times(volume(y), dim(a, columns ? 0 : a.has_rank() ? a.rank() - 1 : 0));
  return 0;
}

} // namespace octet

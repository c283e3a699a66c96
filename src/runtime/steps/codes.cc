// SPDX-License-Identifier: Apache-2.0
#include "runtime/steps/codes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/numerics/program.h"
#include "graph/domains.h"
#include "ops/native/map.h"
#include "runtime/steps/call.h"

namespace octet::runtime {
namespace {

/// Views and largest elements keep the range; everything else states it or may use all of it. A
/// window of ONNX's MaxPool may lie wholly in the padding.
bool keeps_range(const Node& node) {
  return node.is("MaxPool", kNative) || node.is("Reshape") || node.is("Flatten") ||
         node.is("Transpose");
}

/// The least number that a function gives, NaN aside. Minima below 0 are rounded down, by more than the
/// functions err.
float least_of(numerics::MapOp op) {
  using numerics::MapOp;
  switch (op) {
  case MapOp::kGelu:
  case MapOp::kGeluTanh:
    return -0.1702F;
  case MapOp::kSilu:
    return -0.2786F;
  case MapOp::kMish:
    return -0.3090F;
  case MapOp::kHardSwish:
    return -0.3751F;
  case MapOp::kAbs:
  case MapOp::kRelu:
  case MapOp::kSigmoid:
  case MapOp::kSoftplus:
    return 0.0F;
  default:
    return -std::numeric_limits<float>::infinity();
  }
}

/// The least code of a QMap or QGemm whose program ends in such a function.
int32_t least_code(const Node& node, int32_t lo) {
  const bool map = node.op_type == "QMap";
  const size_t inputs = map ? node.inputs.size() : 1;
  const auto program = native::parse_map(node, inputs);
  if (!program.ok() || program->code.empty()) return lo;
  const double scale = node.attr_float(map ? "scale" : "y_scale", 1.0F);
  const auto zero =
      static_cast<int32_t>(node.attr_int(map ? "zero_point" : "y_zero_point", 0)); // NaN is that
  const double steps = std::floor(double{least_of(program->code.back().op)} / scale) - 1.0;
  if (!(scale > 0.0) || !(steps > -256.0)) return lo;
  return std::max(lo, std::min(zero, zero + static_cast<int32_t>(steps)));
}

} // namespace

kernels::XRange code_range_of(const Graph& graph, ValueId id) {
  const bool is_signed = graph.value(id).type.type == DType::kInt8;
  kernels::XRange range{is_signed, is_signed ? -128 : 0, is_signed ? 127 : 255};
  const Node* node = graph.producer(id);
  while (node && keeps_range(*node))
    node = graph.producer(node->input(0));
  if (!node || node->domain != kNative) return range;
  if (node->op_type == "QTable") {
    const Tensor* table = graph.constant(node->input(1));
    if (!table || table->empty()) return range;
    const auto codes = table->to_ints();
    if (!codes.ok()) return range;
    const auto [least, most] = std::minmax_element(codes->begin(), codes->end());
    range.lo = static_cast<int32_t>(*least);
    range.hi = static_cast<int32_t>(*most);
    return range;
  }
  range.lo = static_cast<int32_t>(node->attr_int("lo", range.lo));
  range.hi = static_cast<int32_t>(node->attr_int("hi", range.hi));
  if (node->op_type == "QMap" || (node->op_type == "QGemm" && node->has_attr("program")))
    range.lo = std::min(least_code(*node, range.lo), range.hi);
  if (node->op_type == "QAveragePool") {
    // The average of numbers that are not negative is not either, padding or not; its clamp may
    // still end below.
    const auto zero = static_cast<int32_t>(node->attr_int("x_zero_point", 0));
    const auto y_zero = static_cast<int32_t>(node->attr_int("y_zero_point", 0));
    if (code_range_of(graph, node->input(0)).lo >= zero)
      range.lo = std::max(range.lo, std::min(y_zero, range.hi));
  }
  return range;
}

kernels::XRange read_range_of(const Graph& graph, const Node& conv) {
  kernels::XRange range = code_range_of(graph, conv.input(0));
  const std::vector<int64_t> pads = conv.attr_ints("pads");
  if (!conv.has_attr("auto_pad") &&
      std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p == 0; }))
    return range;
  const auto zero = static_cast<int32_t>(conv.attr_int("x_zero_point", 0));
  range.lo = std::min(range.lo, zero);
  range.hi = std::max(range.hi, zero);
  return range;
}

kernels::Epilogue epilogue_of(const PrepareContext& c) {
  const Node& node = c.node;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  kernels::Epilogue e;
  const auto to = static_cast<DType>(node.attr_int("to", static_cast<int64_t>(DType::kInt8)));
  switch (to) {
  case DType::kUint8:
    e.type = kernels::YType::kUint8;
    break;
  case DType::kInt32:
    e.type = kernels::YType::kInt32;
    break;
  case DType::kFloat32:
    e.type = kernels::YType::kFloat;
    break;
  default:
    e.type = kernels::YType::kInt8;
    break;
  }
  const bool is_unsigned = to == DType::kUint8;
  e.zero_point = static_cast<int32_t>(node.attr_int("y_zero_point", 0));
  e.lo = static_cast<int32_t>(node.attr_int("lo", is_unsigned ? 0 : -128));
  e.hi = static_cast<int32_t>(node.attr_int("hi", is_unsigned ? 255 : 127));
  e.float_lo = node.attr_float("min", -kInfinity);
  e.float_hi = node.attr_float("max", kInfinity);
  e.residual_signed = node.input(4).valid() && c.type(4).type == DType::kInt8;
  e.residual_zero_point = static_cast<int32_t>(node.attr_int("residual_zero_point", 0));
  e.residual_multiplier = node.attr_float("residual_ratio", 0.0F);
  return e;
}

int32_t zero_point_at(Slots slots, int32_t id, DType type) {
  if (id < 0) return 0;
  return type == DType::kInt8 ? int32_t{*at<const int8_t>(slots, id)}
                              : int32_t{*at<const uint8_t>(slots, id)};
}

} // namespace octet::runtime

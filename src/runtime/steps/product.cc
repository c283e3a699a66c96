// SPDX-License-Identifier: Apache-2.0
#include "runtime/steps/product.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/check.h"
#include "core/format.h"
#include "ops/native/epilogue.h"
#include "ops/native/map.h"
#include "runtime/packs.h"
#include "runtime/steps/codes.h"

namespace octet::runtime {
namespace {

/// 255 times the largest i16 weight, so often, stays below 2^31.
constexpr int64_t kMaxWideK = 32768;

} // namespace

Result<Tensor> constant_weights(const PrepareContext& c, std::string_view kernel) {
  const Tensor* w = c.constant(1);
  if (!w) return error("{}: the weights are not constant", kernel);
  if (w->count() == 0) return error("{}: the weights are empty", kernel);
  return w->aligned();
}

Result<Tensor> constant_codes(const PrepareContext& c, std::string_view kernel) {
  Tensor codes = OCTET_TRY(constant_weights(c, kernel));
  const int64_t k = codes.count() / codes.dim(0);
  if (k > kernels::kMaxK)
    return error("{}: sums over {} terms, the limit is {}", kernel, k, kernels::kMaxK);
  if (codes.type() == DType::kInt8) return codes;
  if (k > kMaxWideK)
    return error("{}: sums over {} terms with i16 weights, the limit is {}", kernel, k, kMaxWideK);
  for (const int16_t v : codes.data<int16_t>())
    if (v < native::kLeastWideWeight || v > native::kMostWideWeight)
      return error("{}: a weight is {}; they go from {} to {}", kernel, v, native::kLeastWideWeight,
                   native::kMostWideWeight);
  return codes;
}

Result<Tensor> constant_bias(const PrepareContext& c, size_t input, std::string_view kernel) {
  if (!c.node.input(input).valid()) return Tensor();
  if (!c.constant(input)) return error("{}: the bias is not constant", kernel);
  return c.constant(input)->aligned();
}

Result<WindowOperands> window_operands(const PrepareContext& c, std::string_view kernel) {
  WindowOperands out;
  if (c.constant(1)) {
    out.weights = OCTET_TRY(constant_weights(c, kernel));
    out.shape = out.weights.shape();
  } else {
    const auto shape = c.type(1).static_shape();
    if (!shape) return error("{}: the sizes of the weights are open", kernel);
    if (element_count(*shape).value() == 0) return error("{}: the weights are empty", kernel);
    out.shape = *shape;
  }
  out.made_bias = c.node.input(2).valid() && !c.constant(2);
  if (!out.made_bias) out.bias = OCTET_TRY(constant_bias(c, 2, kernel));
  return out;
}

void WindowOperands::set_bias(std::span<const Operand> in,
                              Slots slots,
                              kernels::FloatEpilogue& epilogue) const {
  if (made_bias) epilogue.bias = at<const float>(slots, in[2].id);
}

kernels::FloatEpilogue float_epilogue_of(const Node& node, const Tensor& bias) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  kernels::FloatEpilogue e;
  if (!bias.empty()) e.bias = bias.data<float>().data();
  e.lo = node.attr_float("min", -kInfinity);
  e.hi = node.attr_float("max", kInfinity);
  return e;
}

kernels::ColumnArgs IntegerOperands::columns(const Node& node) const {
  kernels::ColumnArgs args;
  args.x_zero_point = static_cast<int32_t>(node.attr_int("x_zero_point", 0));
  if (bias.type() == DType::kInt32) args.bias_i32 = bias.data<int32_t>().data();
  args.multiplier = multiplier.data<float>().data();
  args.multiplier_count = multiplier.count();
  if (bias.type() == DType::kFloat32) args.bias = bias.data<float>().data();
  return args;
}

Result<IntegerOperands> integer_operands(const PrepareContext& c, std::string_view kernel) {
  IntegerOperands operands;
  operands.codes = OCTET_TRY(constant_codes(c, kernel));
  if (!c.constant(2)) return error("{}: the multiplier is not constant", kernel);
  operands.multiplier = c.constant(2)->aligned();
  operands.bias = OCTET_TRY(constant_bias(c, 3, kernel));
  return operands;
}

namespace {

kernels::PackedWeights pack_codes(const Tensor& codes, kernels::XRange x, Isa isa) {
  const int64_t n = codes.dim(0), k = codes.dim(1);
  if (codes.type() == DType::kInt8)
    return kernels::pack_weights(codes.data<int8_t>().data(), k, n, k, x, isa);
  const auto wide = codes.data<int16_t>();
  std::vector<int8_t> own(wide.size()), excess(wide.size());
  for (size_t i = 0; i < wide.size(); ++i) {
    own[i] = static_cast<int8_t>(std::clamp<int16_t>(wide[i], -128, 127));
    excess[i] = static_cast<int8_t>(wide[i] - own[i]);
  }
  return kernels::pack_weights(own.data(), k, n, k, x, isa, excess.data());
}

} // namespace

IntegerGemm pack_gemm(const PrepareContext& c, const IntegerOperands& operands, kernels::XRange x) {
  const Tensor& codes = operands.codes;
  IntegerGemm gemm;
  gemm.weights = packed(c, 1, "igemm", ProductForm{codes.dim(0), codes.dim(1), x},
                        [&] { return pack_codes(codes, x, c.isa); });
  gemm.columns = kernels::make_columns(*gemm.weights, operands.columns(c.node));
  gemm.epilogue = epilogue_of(c);
  if (!c.node.has_attr("program")) return gemm;
  const auto program = native::parse_map(c.node, 1);
  OCTET_CHECK(program.ok()); // inference has parsed it
  gemm.function = std::make_unique<const kernels::TileFunction>(*program, c.isa);
  gemm.epilogue.function = gemm.function.get();
  gemm.epilogue.scale = c.node.attr_float("y_scale", 1.0F);
  return gemm;
}

kernels::IgemmArgs IntegerGemm::args(const Operand& x) const {
  kernels::IgemmArgs args;
  args.m = x.count() / weights->k;
  args.x_stride = weights->k;
  args.w = weights.get();
  args.columns = &columns;
  args.epilogue = epilogue;
  args.epilogue.residual_stride = weights->n;
  args.y_stride = weights->n;
  return args;
}

} // namespace octet::runtime

// SPDX-License-Identifier: Apache-2.0
// Equal (opset 7). True where a equals b, with broadcasting; NaN equals nothing. Strings since
// opset 19. Comparisons of shapes fold where they are decided for every value of the symbols.
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"

namespace octet::onnx::op_Equal {
namespace {

Dim equal_dims(const Dim& a, const Dim& b) {
  if (a == b) return 1;
  if (a.is_constant() && b.is_constant()) return 0;
  // A dimension is never negative: -1 in a requested shape stands for none.
  const Dim& fixed = a.is_constant() ? a : b;
  const Dim& other = a.is_constant() ? b : a;
  const bool is_symbol = other.is_known() && other.symbol_name().has_value();
  return fixed.is_constant() && fixed.value() < 0 && is_symbol ? Dim(0) : Dim::unknown();
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_binary(ctx, kNumericTypes | kBoolType | TypeSet{DType::kString}, DType::kBool,
                      equal_dims);
}

Result<Tensor> equal_strings(const Tensor& a, const Tensor& b) {
  const Shape to = OCTET_TRY(broadcast_shapes(std::vector<Shape>{a.shape(), b.shape()}));
  const auto ai = broadcast_index(a.shape(), to);
  const auto bi = broadcast_index(b.shape(), to);
  std::vector<int64_t> out;
  for (size_t i = 0; i < ai.size(); ++i)
    out.push_back(a.string_values()[static_cast<size_t>(ai[i])] ==
                  b.string_values()[static_cast<size_t>(bi[i])]);
  return integer_tensor(DType::kBool, to, out);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  if (ctx.has(0) && ctx.has(1) && ctx.inputs[0].type() == DType::kString) {
    OCTET_TRY(infer_values(infer, ctx));
    return one(OCTET_TRY(equal_strings(ctx.inputs[0], ctx.inputs[1])));
  }
  return eval_binary(infer, ctx,
                     {.real = [](double a, double b) { return a == b ? 1.0 : 0.0; },
                      .integer = [](int64_t a, int64_t b) { return int64_t{a == b}; },
                      .natural = [](uint64_t a, uint64_t b) { return uint64_t{a == b}; }},
                     DType::kBool);
}

} // namespace

extern const OpFacets facets = {
    .since = 7,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.broadcasts = true, .unchanged = true},
};

} // namespace octet::onnx::op_Equal

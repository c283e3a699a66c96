// SPDX-License-Identifier: Apache-2.0
// Div (opset 7). c = a / b with broadcasting; integers are divided towards zero, by 0 gives 0.
#include "ops/shared/elementwise.h"

namespace octet::onnx::op_Div {
namespace {

int64_t divide(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? wrap_sub(0, a) : a / b;
}

/// Quotients of symbols, exact or of what cannot be negative, where towards zero is down; constants
/// are divided towards zero as the integers are.
Dim divide_dims(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant())
    return b.value() == 0 ? Dim::unknown() : Dim(divide(a.value(), b.value()));
  const Dim exact = a / b;
  const bool down = !exact.is_known() && b.is_constant() && b.value() > 0 && a.is_never_negative();
  return down ? floor_divide(a, b.value()) : exact;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  return infer_binary(ctx, kNumericTypes, DType::kUndefined, divide_dims);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return eval_binary(infer, ctx,
                     {.real = [](double a, double b) { return a / b; },
                      .integer = [](int64_t a, int64_t b) { return divide(a, b); },
                      .natural = [](uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b; }});
}

QuantTrait quant(const Node&, std::span<const InputInfo>) {
  return QuantTrait::none("a quotient near a divisor of 0 has no useful 8-bit range");
}

} // namespace

extern const OpFacets facets = {
    .since = 7,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = quant,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.broadcasts = true, .unchanged = true},
};

} // namespace octet::onnx::op_Div

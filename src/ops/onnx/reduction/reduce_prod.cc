// SPDX-License-Identifier: Apache-2.0
// ReduceProd (opset 1 to 18). The product over the axes; 1 over nothing.
#include "ops/shared/reduce.h"

namespace octet::onnx::op_ReduceProd {
namespace {

double real(std::span<const double> x) {
  double r = 1;
  for (double v : x)
    r *= v;
  return r;
}

int64_t integer(std::span<const int64_t> x, DType) {
  uint64_t r = 1; // wraps
  for (int64_t v : x)
    r *= static_cast<uint64_t>(v);
  return static_cast<int64_t>(r);
}

const Reduction& reduction() {
  static const Reduction r = {.types = kReducible,
                              .axes_input_since = 18,
                              .real = real,
                              .integer = integer,
                              .on_dims = [](const Dim& a, const Dim& b) { return a * b; }};
  return r;
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  return infer_reduction(c, reduction());
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  return eval_reduction(c, infer, reduction());
}

} // namespace

extern const OpDef def = {
    .domain = "",
    .name = "ReduceProd",
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .determinism = Determinism::kPure,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_ReduceProd

// SPDX-License-Identifier: Apache-2.0
// ReduceSumSquare (opset 1 to 18). The sum of squares over the axes.
#include "ops/shared/reduce.h"

namespace octet::onnx::op_ReduceSumSquare {
namespace {

double real(std::span<const double> x) {
  double r = 0;
  for (double v : x)
    r += v * v;
  return r;
}

int64_t integer(std::span<const int64_t> x, DType) {
  uint64_t r = 0; // wraps
  for (int64_t v : x)
    r += static_cast<uint64_t>(v) * static_cast<uint64_t>(v);
  return static_cast<int64_t>(r);
}

const Reduction& reduction() {
  static const Reduction r = {
      .types = kReducible, .axes_input_since = 18, .real = real, .integer = integer};
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
    .name = "ReduceSumSquare",
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

} // namespace octet::onnx::op_ReduceSumSquare

// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/optimizer_step.h"

#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/validate.h"

namespace octet {

Result<std::vector<OutputInfo>> infer_optimizer(const InferContext& ctx, size_t states) {
  constexpr TypeSet kTypes{DType::kFloat32, DType::kFloat64};
  const size_t kinds = 2 + states;
  if (ctx.inputs.size() < 2 + kinds || (ctx.inputs.size() - 2) % kinds != 0)
    return error("{} inputs; give R, T and {} tensors for each parameter", ctx.inputs.size(),
                 kinds);
  OCTET_TRY(check_input(ctx, 0, kTypes));
  OCTET_TRY(check_input(ctx, 1, kInt64Type));
  OCTET_TRY(check_scalar(ctx, 0));
  OCTET_TRY(check_scalar(ctx, 1));
  const size_t n = (ctx.inputs.size() - 2) / kinds;
  std::vector<OutputInfo> out;
  for (size_t kind = 0; kind < kinds; ++kind)
    for (size_t i = 0; i < n; ++i) {
      const size_t at = 2 + kind * n + i;
      OCTET_TRY(check_input(ctx, at, kTypes));
      const TypeInfo& x = ctx.input(2 + i).type;
      const TypeInfo& t = ctx.input(at).type;
      if (x.has_rank() && t.has_rank() && x.rank() != t.rank())
        return error("input {} is {}, its parameter {}", at, t.text(), x.text());
      for (size_t d = 0; x.has_rank() && t.has_rank() && d < x.shape->size(); ++d)
        OCTET_TRY(merge_dims((*x.shape)[d], (*t.shape)[d],
                             fmt::format("axis {} of input {} and its parameter", d, at)));
      if (kind != 1) out.emplace_back(x);
    }
  return out;
}

Result<std::vector<Tensor>>
eval_optimizer(InferFn* infer, const EvalContext& ctx, size_t states, const OptimizerStep& step) {
  OCTET_TRY(infer_values(infer, ctx));
  const double rate = ctx.inputs[0].at(0);
  const int64_t steps = OCTET_TRY(integer_values(ctx.inputs[1]))[0];
  const size_t kinds = 2 + states, n = (ctx.inputs.size() - 2) / kinds;
  std::vector<Tensor> out((1 + states) * n);
  for (size_t i = 0; i < n; ++i) {
    std::vector<std::vector<double>> values;
    for (size_t kind = 0; kind < kinds; ++kind)
      values.push_back(OCTET_TRY(ctx.inputs[2 + kind * n + i].to_doubles()));
    std::vector<double> state(states);
    for (size_t e = 0; e < values[0].size(); ++e) {
      for (size_t s = 0; s < states; ++s)
        state[s] = values[2 + s][e];
      step(rate, steps, values[0][e], values[1][e], state);
      for (size_t s = 0; s < states; ++s)
        values[2 + s][e] = state[s];
    }
    const Tensor& x = ctx.inputs[2 + i];
    out[i] = OCTET_TRY(rounded(x.type(), x.shape(), values[0]));
    for (size_t s = 0; s < states; ++s)
      out[(1 + s) * n + i] = OCTET_TRY(rounded(x.type(), x.shape(), values[2 + s]));
  }
  return out;
}

double float_attribute(const Node& node, const char* name, float otherwise) {
  return static_cast<double>(node.attr_float(name, otherwise));
}

} // namespace octet

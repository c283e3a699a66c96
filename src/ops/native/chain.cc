// SPDX-License-Identifier: Apache-2.0
#include "ops/native/chain.h"

#include <limits>

#include "core/numerics/round.h"
#include "ops/native/epilogue.h"
#include "ops/shared/validate.h"

namespace octet::native {

float ChainOperands::finish(float chain, int64_t channel) const {
  if (!bias.empty()) chain += bias[static_cast<size_t>(channel)];
  return numerics::clamp_keep_nan(chain, min, max);
}

void rows_chain(const ChainOperands& o, int64_t n, int64_t k, std::span<float> y) {
  for (size_t i = 0; i < y.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const float* row = o.x.data() + at / n * k;
    y[i] = o.finish(fma_chain(0, row, 1, o.w.data() + at % n * k, 1, k), at % n);
  }
}

Result<ChainOperands> chain_operands(const EvalContext& c) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  ChainOperands out{.x = OCTET_TRY(c.inputs[0].to_floats()),
                    .w = OCTET_TRY(c.inputs[1].to_floats()),
                    .bias = {},
                    .min = c.node.attr_float("min", -kInf),
                    .max = c.node.attr_float("max", kInf)};
  if (c.has(2)) out.bias = OCTET_TRY(c.inputs[2].to_floats());
  return out;
}

Status check_chain_operands(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 3));
  for (size_t i = 0; i < 3; ++i)
    OCTET_TRY(check_optional(c, i, kF32));
  return ok_status();
}

} // namespace octet::native

// SPDX-License-Identifier: Apache-2.0
// LRN (opset 1, 13). x: [N, C, D...]. y = x / (bias + alpha / size * sum of squares of the `size`
// channels around)^beta, from c - floor((size - 1) / 2) to c + ceil((size - 1) / 2), cut at the
// ends.
#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_LRN {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 1));
  OCTET_TRY(check_input(c, 0, kFloatTypes));
  OCTET_TRY(check_rank(c, 0, 2, 16));
  const int64_t size = c.node.attr_int("size", 0);
  if (size < 1) return error("size {}; use a positive number", size);
  return one(c.input(0).type);
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  OCTET_TRY(infer_values(infer, c));
  const Tensor& xt = c.inputs[0];
  const auto x = OCTET_TRY(xt.to_doubles());
  const int64_t size = c.node.attr_int("size", 1), channels = xt.dim(1);
  const double alpha = c.node.attr_float("alpha", 1e-4F), beta = c.node.attr_float("beta", 0.75F),
               bias = c.node.attr_float("bias", 1);
  const int64_t plane = product(xt.shape(), 2, xt.shape().size());
  std::vector<double> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t channel = at / plane % channels;
    const int64_t first = std::max<int64_t>(channel - (size - 1) / 2, 0);
    const int64_t last = std::min(channel + size / 2, channels - 1);
    double squares = 0;
    for (int64_t k = first; k <= last; ++k) {
      const double v = x[static_cast<size_t>(at + (k - channel) * plane)];
      squares += v * v;
    }
    y[i] = x[i] / std::pow(bias + alpha / static_cast<double>(size) * squares, beta);
  }
  return one(OCTET_TRY(rounded(xt.type(), xt.shape(), y)));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_LRN

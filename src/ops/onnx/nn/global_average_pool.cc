// SPDX-License-Identifier: Apache-2.0
// GlobalAveragePool (opset 1 to 22). x: [N, C, D...], y: [N, C, 1...]: the mean of each plane.
#include "ops/shared/validate.h"

namespace octet::onnx::op_GlobalAveragePool {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 1));
  OCTET_TRY(check_input(c, 0, kFloatTypes));
  OCTET_TRY(check_rank(c, 0, 2, 16));
  TypeInfo out = c.input(0).type;
  if (out.has_rank())
    for (size_t i = 2; i < out.shape->size(); ++i)
      (*out.shape)[i] = Dim(1);
  return one(std::move(out));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const auto x = OCTET_TRY(c.inputs[0].to_doubles());
  const Shape& in = c.inputs[0].shape();
  const int64_t plane = product(in, 2, in.size());
  std::vector<double> y(static_cast<size_t>(in[0] * in[1]));
  size_t at = 0;
  for (size_t p = 0; p < y.size(); ++p) {
    double sum = 0;
    for (int64_t i = 0; i < plane; ++i)
      sum += x[at++];
    y[p] = sum / static_cast<double>(plane);
  }
  return one(OCTET_TRY(rounded(outputs[0].type.type, shape, y)));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = elementwise_all,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.by_magnitude = true, .unchanged = true},
};

} // namespace octet::onnx::op_GlobalAveragePool

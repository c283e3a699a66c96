// SPDX-License-Identifier: Apache-2.0
// Softmax (opset 1 to 13). y = exp(x - max) / sum(exp(x - max)) along the axis; before opset 13
// over rows of the matrix that the axis cuts.
#include "ops/shared/axis_split.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_Softmax {
namespace {

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  OCTET_TRY(infer_values(infer_along_axis, c));
  auto x = OCTET_TRY(c.inputs[0].to_doubles());
  for_each_line(axis_split(c), x, softmax_line);
  return one(OCTET_TRY(rounded(c.inputs[0].type(), c.inputs[0].shape(), x)));
}

QuantTrait quant(const Node&, std::span<const InputInfo>) {
  return QuantTrait::none("the exponentials of a row run in float");
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer_along_axis,
    .eval = eval,
    .roles = all_data,
    .quant = quant,
    .motion = nothing_moves,
    .range = within<0, 1>,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Softmax

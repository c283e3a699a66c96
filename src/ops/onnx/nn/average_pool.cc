// SPDX-License-Identifier: Apache-2.0
// AveragePool (opset 7 to 22), one to three spatial axes. y: the sum of each window over the number
// of its taps inside the input, with count_include_pad inside the input and its padding; 0 of none.
#include "ops/shared/pooling.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_AveragePool {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 1));
  OCTET_TRY(check_input(c, 0, kFloatTypes));
  return one(c.input(0).type.type, OCTET_TRY(pool_shape(c.node, c.input(0).type)));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const auto outputs = OCTET_TRY(infer_values(infer, c));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const auto x = OCTET_TRY(c.inputs[0].to_doubles());
  const Window3 g = OCTET_TRY(pool_window(c.node, c.inputs[0].shape(), shape));
  const bool count_padding = c.node.attr_int("count_include_pad", 0) != 0;
  OCTET_TRY(element_count(shape));
  const auto y = average_planes(g, shape[0] * shape[1], x, count_padding);
  return one(OCTET_TRY(rounded(outputs[0].type.type, shape, y)));
}

} // namespace

extern const OpFacets facets = {
    .since = 7,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = elementwise_all,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.by_magnitude = true, .unchanged = true},
};

} // namespace octet::onnx::op_AveragePool

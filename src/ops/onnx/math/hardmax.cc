// SPDX-License-Identifier: Apache-2.0
// Hardmax (opset 1 to 13). 1 at the first largest element along the axis (a NaN is), 0
// elsewhere; before opset
// 13 over rows of the matrix that the axis cuts.
#include <algorithm>

#include "ops/shared/axis_split.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_Hardmax {
namespace {

void hardmax_line(std::vector<double>& line) {
  auto largest = std::find_if(line.begin(), line.end(), [](double v) { return v != v; });
  if (largest == line.end()) largest = std::max_element(line.begin(), line.end());
  const auto place = static_cast<size_t>(largest - line.begin());
  std::fill(line.begin(), line.end(), 0.0);
  if (place < line.size()) line[place] = 1;
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  OCTET_TRY(infer_values(infer_along_axis, c));
  auto x = OCTET_TRY(c.inputs[0].to_doubles());
  for_each_line(axis_split(c), x, hardmax_line);
  return one(OCTET_TRY(rounded(c.inputs[0].type(), c.inputs[0].shape(), x)));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer_along_axis,
    .eval = eval,
    .roles = all_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Hardmax

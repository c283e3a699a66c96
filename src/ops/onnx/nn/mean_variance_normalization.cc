// SPDX-License-Identifier: Apache-2.0
// MeanVarianceNormalization (opset 9, 13). y = (x - mean) / (sqrt(variance) + 1e-9), both taken
// over `axes`.
#include <algorithm>
#include <cmath>

#include "ops/shared/movement.h"
#include "ops/shared/normalization.h"

namespace octet::onnx::op_MeanVarianceNormalization {
namespace {

constexpr double kEpsilon = 1e-9; // as in ONNX's function body

std::vector<int64_t> axes_of(const Node& node) {
  auto axes = node.attr_ints("axes");
  return axes.empty() ? std::vector<int64_t>{0, 2, 3} : axes;
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 1));
  OCTET_TRY(check_input(c, 0, kFloatTypes));
  const TypeInfo& x = c.input(0).type;
  if (x.has_rank()) OCTET_TRY(normalize_axes(axes_of(c.node), x.rank()));
  return one(x);
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  OCTET_TRY(infer_values(infer, c));
  const Tensor& xt = c.inputs[0];
  auto x = OCTET_TRY(xt.to_doubles());
  const auto axes = OCTET_TRY(normalize_axes(axes_of(c.node), xt.rank()));
  Shape kept = xt.shape(), together(kept.size(), 1);
  for (int64_t axis : axes)
    std::swap(kept[static_cast<size_t>(axis)], together[static_cast<size_t>(axis)]);
  const Shape strides = strides_of(xt.shape());
  const auto members = strided_index(together, strides);
  std::vector<double> list(members.size());
  for (int64_t first : strided_index(kept, strides)) {
    for (size_t i = 0; i < list.size(); ++i)
      list[i] = x[static_cast<size_t>(first + members[i])];
    const Moments m = moments(list);
    standardize(list, m.mean, 1 / (std::sqrt(m.variance) + kEpsilon));
    for (size_t i = 0; i < list.size(); ++i)
      x[static_cast<size_t>(first + members[i])] = list[i];
  }
  return one(OCTET_TRY(rounded(xt.type(), xt.shape(), x)));
}

} // namespace

extern const OpFacets facets = {
    .since = 9,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = normalizes,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_MeanVarianceNormalization

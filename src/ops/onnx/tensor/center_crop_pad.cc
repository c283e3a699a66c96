// SPDX-License-Identifier: Apache-2.0
// CenterCropPad (opset 18). x cropped or padded with zeros to a size along each of `axes`, half on
// either side, the odd element at the end.
#include <numeric>

#include "core/format.h"
#include "ops/shared/movement.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_CenterCropPad {
namespace {

Result<std::vector<int64_t>> parse_axes(const Node& node, int64_t rank) {
  if (node.has_attr("axes")) return normalize_axes(node.attr_ints("axes"), rank);
  std::vector<int64_t> all(static_cast<size_t>(rank));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_present(ctx, 0));
  OCTET_TRY(check_input(ctx, 1, kIndexTypes));
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank()) return one(x.type, std::nullopt);
  const auto axes = OCTET_TRY(parse_axes(ctx.node, x.rank()));
  const auto sizes = known_dims(ctx.input(1));
  if (sizes && sizes->size() != axes.size())
    return error("shape has {} entries for {} axes", sizes->size(), axes.size());
  std::vector<Dim> out = *x.shape;
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim& dim = out[static_cast<size_t>(axes[i])];
    dim = sizes ? (*sizes)[i] : Dim::unknown();
    if (dim.is_constant() && dim.value() < 0)
      return error("shape asks for {} elements along axis {}", dim.value(), axes[i]);
  }
  return one(x.type, out);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const Shape own = strides_of(x.shape()), strides = strides_of(shape);
  auto index = strided_index(shape, strides);
  for (int64_t& i : index) {
    int64_t from = 0;
    for (size_t axis = 0; axis < shape.size() && from >= 0; ++axis) {
      const int64_t size = x.shape()[axis];
      // Division rounds towards zero: the odd element goes to the end either way.
      const int64_t at = i / strides[axis] % shape[axis] + (size - shape[axis]) / 2;
      from = at < 0 || at >= size ? -1 : from + at * own[axis];
    }
    i = from < 0 ? x.count() : from;
  }
  const Tensor zero = x.type() == DType::kString ? OCTET_TRY(Tensor::strings({}, {""}))
                                                 : OCTET_TRY(Tensor::zeros(x.type(), {}));
  return one(OCTET_TRY(take(std::vector<Tensor>{x, zero}, shape, index)));
}

} // namespace

extern const OpFacets facets = {
    .since = 18,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = moves_data,
    .motion = moves_first<Motion::Kind::kFill>,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_CenterCropPad

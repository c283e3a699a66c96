// SPDX-License-Identifier: Apache-2.0
// OneHot (opset 9). For each index a row of `depth` elements along a new axis: values[0] everywhere
// but values[1] at the index; an index outside of [-depth, depth) gives a row of values[0].
#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"

namespace octet::onnx::op_OneHot {
namespace {

struct OneHotAttrs {
  int64_t axis = -1; ///< in the output's rank
};

Result<OneHotAttrs> parse(const Node& node, int64_t rank) {
  return OneHotAttrs{.axis = OCTET_TRY(normalize_axis(node.attr_int("axis", -1), rank + 1))};
}

/// The depth, when it is known.
std::optional<Dim> depth_of(const InputInfo& depth) {
  if (const auto dims = known_dims(depth); dims && dims->size() == 1) return (*dims)[0];
  if (depth.constant != nullptr && depth.constant->count() == 1) {
    const double d = depth.constant->at(0);
    if (d >= 0 && d < 0x1p53) return Dim(static_cast<int64_t>(d));
  }
  return std::nullopt;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 3, 3));
  OCTET_TRY(check_input(ctx, 0, kNumericTypes));
  OCTET_TRY(check_input(ctx, 1, kNumericTypes));
  OCTET_TRY(check_scalar(ctx, 1));
  OCTET_TRY(check_present(ctx, 2));
  const TypeInfo& values = ctx.input(2).type;
  if (const auto shape = values.static_shape(); shape && *shape != Shape{2})
    return error("values has shape {}; it holds the off and the on value", to_string(*shape));
  const TypeInfo& indices = ctx.input(0).type;
  if (!indices.has_rank()) return one(values.type, std::nullopt);
  const auto axis = OCTET_TRY(parse(ctx.node, indices.rank())).axis;
  const Dim depth = depth_of(ctx.input(1)).value_or(Dim::unknown());
  if (depth.is_constant() && depth.value() < 1)
    return error("depth is {}; it is 1 or more", depth.value());
  std::vector<Dim> out = *indices.shape;
  out.insert(out.begin() + axis, depth);
  return one(values.type, out);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& indices = ctx.inputs[0];
  const auto axis = static_cast<size_t>(OCTET_TRY(parse(ctx.node, indices.rank())).axis);
  const int64_t depth = shape[axis];
  const auto classes = OCTET_TRY(indices.to_doubles());
  Shape strides = strides_of(indices.shape());
  strides.insert(strides.begin() + static_cast<int64_t>(axis), 0);
  const auto row = strided_index(shape, strides);
  const int64_t run = strides_of(shape)[axis];
  std::vector<int64_t> index;
  for (size_t i = 0; i < row.size(); ++i) {
    const double c = classes[static_cast<size_t>(row[i])];
    const auto at = static_cast<double>(static_cast<int64_t>(i) / run % depth);
    index.push_back(c == at || c + static_cast<double>(depth) == at ? 1 : 0);
  }
  return one(OCTET_TRY(take(ctx.inputs[2], shape, index)));
}

} // namespace

extern const OpFacets facets = {
    .since = 9,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_OneHot

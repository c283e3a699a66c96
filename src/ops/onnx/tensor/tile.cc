// SPDX-License-Identifier: Apache-2.0
// Tile (opset 6). x repeated along each dimension as often as the second input says.
#include "core/format.h"
#include "ops/shared/movement.h"
#include "ops/shared/types.h"

namespace octet::onnx::op_Tile {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_present(ctx, 0));
  OCTET_TRY(check_input(ctx, 1, kInt64Type));
  const TypeInfo& x = ctx.input(0).type;
  const auto repeats = known_dims(ctx.input(1));
  if (!x.has_rank()) return one(x.type, std::nullopt);
  if (!repeats) return one(x.type, unknown_dims(x.rank()));
  if (static_cast<int64_t>(repeats->size()) != x.rank())
    return error("{} repeats for x {}; give one for each dimension", repeats->size(), x.text());
  std::vector<Dim> out;
  for (size_t i = 0; i < repeats->size(); ++i) {
    const Dim& r = (*repeats)[i];
    if (r.is_constant() && r.value() < 0)
      return error("repeats hold {}; each is 0 or more", r.value());
    out.push_back((*x.shape)[i] * r);
  }
  return one(x.type, out);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  // Each dimension as two: which repetition (stride 0), and where in x.
  const Shape own = strides_of(x.shape());
  Shape split, strides;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t size = x.shape()[i];
    split.insert(split.end(), {size == 0 ? 0 : shape[i] / size, size});
    strides.insert(strides.end(), {0, own[i]});
  }
  return one(OCTET_TRY(take(x, shape, strided_index(split, strides))));
}

} // namespace

extern const OpFacets facets = {
    .since = 6,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = moves_data,
    .motion = moves_first<Motion::Kind::kSelect>,
    .range = of_sources,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Tile

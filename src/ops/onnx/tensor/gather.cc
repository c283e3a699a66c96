// SPDX-License-Identifier: Apache-2.0
// Gather (opset 1). y = x with dimension `axis` indexed: x[:axis] + indices + x[axis + 1:].
// Negative indices count from the end (opset 11). Known to shape computations.
#include "ops/shared/indices.h"
#include "ops/shared/movement.h"

namespace octet::onnx::op_Gather {
namespace {

struct GatherAttrs {
  int64_t axis = 0;
};

Result<GatherAttrs> parse(const Node& node, int64_t rank) {
  return GatherAttrs{.axis = OCTET_TRY(normalize_axis(node.attr_int("axis", 0), rank))};
}

/// The picked elements of a known vector; nothing for an index out of range.
std::optional<std::vector<Dim>> pick(const InferContext& ctx) {
  const auto x = known_dims(ctx.input(0));
  const auto indices = known_ints(ctx.input(1));
  if (!x || !indices) return std::nullopt;
  const auto n = static_cast<int64_t>(x->size());
  std::vector<Dim> out;
  for (int64_t i : *indices) {
    if (i < -n || i >= n) return std::nullopt;
    out.push_back((*x)[static_cast<size_t>(i < 0 ? i + n : i)]);
  }
  return out;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_present(ctx, 0));
  OCTET_TRY(check_input(ctx, 1, kIndexTypes));
  const TypeInfo& x = ctx.input(0).type;
  const TypeInfo& indices = ctx.input(1).type;
  if (!x.has_rank()) return one(x.type, std::nullopt);
  const int64_t axis = OCTET_TRY(parse(ctx.node, x.rank())).axis;
  if (!indices.has_rank()) return one(x.type, std::nullopt);
  std::vector<Dim> out(x.shape->begin(), x.shape->begin() + axis);
  out.insert(out.end(), indices.shape->begin(), indices.shape->end());
  out.insert(out.end(), x.shape->begin() + axis + 1, x.shape->end());
  auto outputs = one(x.type, out);
  if (x.rank() == 1) set_value(outputs[0], pick(ctx));
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const int64_t axis = OCTET_TRY(parse(ctx.node, x.rank())).axis;
  const auto picks = OCTET_TRY(indices_within(ctx.inputs[1], x.dim(axis)));
  int64_t outer = 1;
  for (int64_t i = 0; i < axis; ++i)
    outer *= x.dim(i);
  const int64_t run = strides_of(x.shape())[static_cast<size_t>(axis)];
  std::vector<int64_t> index;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t p : picks)
      for (int64_t i = 0; i < run; ++i)
        index.push_back((o * x.dim(axis) + p) * run + i);
  return one(OCTET_TRY(take(x, shape, index)));
}

/// The table is an embedding when it is a constant.
Role roles(const Node&, size_t input) {
  return input == 0 ? Role::kWeight : Role::kConstant;
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = moves_data,
    .motion = moves_first<Motion::Kind::kSelect>,
    .range = of_sources,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Gather

// SPDX-License-Identifier: Apache-2.0
// TensorScatter (opset 24). A cache [B, .., M, ..] with the steps of update [B, .., S, ..] along
// `axis`, in row b from write_indices[b] on (0 without). mode circular: places count modulo M; else
// all must lie below M.
#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_TensorScatter {
namespace {

Result<bool> is_circular(const Node& node) {
  const std::string mode = node.attr_string("mode", "linear");
  if (mode != "linear" && mode != "circular")
    return error("mode is \"{}\"; use linear or circular", mode);
  return mode == "circular";
}

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 3));
  OCTET_TRY(check_present(c, 0));
  OCTET_TRY(check_present(c, 1));
  OCTET_TRY(check_optional(c, 2, kInt64Type));
  OCTET_TRY(is_circular(c.node));
  OCTET_TRY(common_type(c, 0, 1));
  const TypeInfo &cache = c.input(0).type, &update = c.input(1).type;
  if (!cache.has_rank() || !update.has_rank()) return one(cache);
  OCTET_TRY(check_rank(c, 1, cache.rank(), cache.rank()));
  const int64_t axis = OCTET_TRY(normalize_axis(c.node.attr_int("axis", -2), cache.rank()));
  if (axis == 0) return Error("axis 0 is that of the rows; give another one");
  for (size_t k = 0; k < cache.shape->size(); ++k) {
    const Dim &mine = (*cache.shape)[k], &its = (*update.shape)[k];
    if (static_cast<int64_t>(k) != axis)
      OCTET_TRY(merge_dims(mine, its, "sizes of the cache and of its update"));
    else if (mine.is_constant() && its.is_constant() && its.value() > mine.value())
      return error("an update of {} steps for a cache of {}", its.value(), mine.value());
  }
  OCTET_TRY(check_vector(c, 2, (*cache.shape)[0], "write_indices and rows"));
  return one(cache);
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  const Shape shape = OCTET_TRY(infer_shape(infer, c));
  const bool circular = OCTET_TRY(is_circular(c.node));
  const int64_t axis =
      OCTET_TRY(normalize_axis(c.node.attr_int("axis", -2), static_cast<int64_t>(shape.size())));
  const auto at = static_cast<size_t>(axis);
  const int64_t most = shape[at], steps = c.inputs[1].dim(axis), rows = shape[0];
  std::vector<int64_t> begins(static_cast<size_t>(rows));
  if (c.has(2)) begins = OCTET_TRY(c.inputs[2].to_ints());
  const int64_t between = product(shape, 1, at), inner = product(shape, at + 1, shape.size());
  std::vector<int64_t> from(static_cast<size_t>(product(shape)));
  for (size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<int64_t>(i);
  for (int64_t b = 0; b < rows; ++b) {
    const int64_t begin = begins[static_cast<size_t>(b)];
    const bool fits = begin >= 0 && (circular ? begin < wrap_add(begin, steps) || steps == 0
                                              : begin <= most - steps);
    if (!fits)
      return error("row {} is written from {} on, {} steps into {}; make them fit", b, begin, steps,
                   most);
    for (int64_t m = 0; m < between; ++m)
      for (int64_t s = 0; s < steps; ++s)
        for (int64_t i = 0; i < inner; ++i) {
          const int64_t place = circular ? (begin + s) % most : begin + s;
          from[static_cast<size_t>(((b * between + m) * most + place) * inner + i)] =
              c.inputs[0].count() + ((b * between + m) * steps + s) * inner + i;
        }
  }
  return one(OCTET_TRY(take(std::vector<Tensor>{c.inputs[0], c.inputs[1]}, shape, from)));
}

Role roles(const Node&, size_t input) {
  return input < 2 ? Role::kData : Role::kConstant;
}

Motion motion(const Node&) {
  return {.kind = Motion::Kind::kJoin, .inputs = 0b11};
}

} // namespace

extern const OpFacets facets = {
    .since = 24,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = not_quantizable,
    .motion = motion,
    .range = of_sources,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_TensorScatter

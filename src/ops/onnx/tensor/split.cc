// SPDX-License-Identifier: Apache-2.0
// Split (opset 2). x cut along `axis` into as many parts as the node has outputs: of the given
// sizes (an attribute before opset 13, an input since), else equal; the last part is smaller where
// num_outputs (opset 18) does not divide the dimension.
#include "core/format.h"
#include "ops/shared/movement.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_Split {
namespace {

/// Keeps sums of sizes far from overflow.
constexpr int64_t kMostPerPart = int64_t{1} << 40;

struct SplitAttrs {
  int64_t axis = 0;
  int64_t parts = 0;
};

Result<SplitAttrs> parse(const Node& node, int64_t rank) {
  SplitAttrs a{.axis = OCTET_TRY(normalize_axis(node.attr_int("axis", 0), rank)),
               .parts = static_cast<int64_t>(node.outputs.size())};
  const int64_t stated = node.attr_int("num_outputs", a.parts);
  if (stated != a.parts || a.parts == 0)
    return error("num_outputs is {} but the node has {} outputs; make them equal", stated, a.parts);
  return a;
}

/// The size of each part, unknown where it depends on what is not known.
Result<std::vector<Dim>>
part_sizes(const InferContext& ctx, const SplitAttrs& a, const Dim& whole) {
  const ListArgument given = list_argument(ctx, "split", 1, 13);
  const auto parts = static_cast<size_t>(a.parts);
  if (given.given && !given.known) return unknown_dims(a.parts);
  if (given.known) {
    int64_t sum = 0;
    for (int64_t size : *given.known) {
      if (size < 0 || size > kMostPerPart)
        return error("split holds the size {}; use 0 to {}", size, kMostPerPart);
      sum += size;
    }
    if (given.known->size() != parts)
      return error("split holds {} sizes but the node has {} outputs; make them equal",
                   given.known->size(), parts);
    if (whole.is_constant() && whole.value() != sum)
      return error("split adds up to {} but axis {} has size {}; they must agree", sum, a.axis,
                   whole.value());
    return std::vector<Dim>(given.known->begin(), given.known->end());
  }
  if (!whole.is_constant()) return std::vector<Dim>(parts, whole / Dim(a.parts));
  const bool uneven = ctx.node.has_attr("num_outputs");
  const int64_t chunk = (whole.value() + a.parts - 1) / a.parts;
  const int64_t last = whole.value() - chunk * (a.parts - 1);
  if (last < 0 || (!uneven && last != chunk))
    return error("axis {} of size {} does not split into {} equal parts; give the sizes", a.axis,
                 whole.value(), a.parts);
  std::vector<Dim> sizes(parts, chunk);
  sizes.back() = last;
  return sizes;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, ctx.version < 13 ? 1 : 2));
  OCTET_TRY(check_present(ctx, 0));
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank())
    return std::vector<OutputInfo>(ctx.node.outputs.size(), one(x.type, std::nullopt)[0]);
  const SplitAttrs a = OCTET_TRY(parse(ctx.node, x.rank()));
  const auto axis = static_cast<size_t>(a.axis);
  const auto value = x.rank() == 1 ? known_dims(ctx.input(0)) : std::nullopt;
  std::vector<OutputInfo> outputs;
  int64_t at = 0;
  for (const Dim& size : OCTET_TRY(part_sizes(ctx, a, (*x.shape)[axis]))) {
    OutputInfo part(x);
    (*part.type.shape)[axis] = size;
    if (value && size.is_constant()) {
      set_value(part, std::vector<Dim>(value->begin() + at, value->begin() + at + size.value()));
      at += size.value();
    }
    outputs.push_back(std::move(part));
  }
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const auto axis = static_cast<size_t>(OCTET_TRY(parse(ctx.node, x.rank())).axis);
  const Shape strides = strides_of(x.shape());
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (const OutputInfo& part : outputs) {
    const Shape shape = OCTET_TRY(shape_of(part));
    parts.push_back(OCTET_TRY(take(x, shape, strided_index(shape, strides, at * strides[axis]))));
    at += shape[axis];
  }
  return parts;
}

Motion motion(const Node&) {
  return {.kind = Motion::Kind::kSelect, .outputs = Motion::kAll};
}

} // namespace

extern const OpFacets facets = {
    .since = 2,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = moves_data,
    .motion = motion,
    .range = of_sources,
    .facts = kNoFacts,
};

} // namespace octet::onnx::op_Split

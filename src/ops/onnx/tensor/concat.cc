// SPDX-License-Identifier: Apache-2.0
// Concat (opset 4). The inputs one after the other along `axis`; their other dimensions agree.
#include "core/format.h"
#include "ops/shared/movement.h"
#include "ops/shared/types.h"

namespace octet::onnx::op_Concat {
namespace {

struct ConcatAttrs {
  int64_t axis = 0;
};

Result<ConcatAttrs> parse(const Node& node, int64_t rank) {
  if (!node.has_attr("axis")) return error("axis is missing; name the axis to join along");
  return ConcatAttrs{.axis = OCTET_TRY(normalize_axis(node.attr_int("axis", 0), rank))};
}

/// The joined shape of inputs whose ranks are known.
Result<std::vector<Dim>> joined(const InferContext& ctx) {
  std::vector<Dim> out = *ctx.input(0).type.shape;
  const auto axis =
      static_cast<size_t>(OCTET_TRY(parse(ctx.node, static_cast<int64_t>(out.size()))).axis);
  for (size_t k = 1; k < ctx.inputs.size(); ++k) {
    const TypeInfo& t = ctx.input(k).type;
    if (t.shape->size() != out.size())
      return error("inputs 0 and {} are {} and {}; their ranks must agree", k,
                   ctx.input(0).type.text(), t.text());
    for (size_t i = 0; i < out.size(); ++i) {
      const Dim& d = (*t.shape)[i];
      if (i == axis) {
        out[i] = out[i] + d;
      } else if (out[i].is_constant() && d.is_constant() && out[i].value() != d.value()) {
        return error("inputs 0 and {} are {} and {}; they may differ only along axis {}", k,
                     ctx.input(0).type.text(), t.text(), axis);
      } else if (!out[i].is_constant() && (d.is_constant() || !out[i].is_known())) {
        out[i] = d;
      }
    }
  }
  return out;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  if (ctx.inputs.empty()) return error("Concat has no inputs; it takes one or more");
  bool ranked = true;
  bool valued = true;
  std::vector<Dim> value;
  for (size_t i = 0; i < ctx.inputs.size(); ++i) {
    OCTET_TRY(check_present(ctx, i));
    ranked = ranked && ctx.input(i).type.has_rank();
    const auto part = known_dims(ctx.input(i));
    valued = valued && part;
    if (part) value.insert(value.end(), part->begin(), part->end());
  }
  const DType type = OCTET_TRY(common_type(ctx, 0, ctx.inputs.size() - 1));
  if (!ranked) return one(type, std::nullopt);
  auto outputs = one(type, OCTET_TRY(joined(ctx)));
  if (valued) set_value(outputs[0], std::move(value));
  return outputs;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const int64_t axis = OCTET_TRY(parse(ctx.node, static_cast<int64_t>(shape.size()))).axis;
  int64_t rows = 1;
  for (int64_t i = 0; i < axis; ++i)
    rows *= shape[static_cast<size_t>(i)];
  std::vector<int64_t> index;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t first = 0;
    for (const Tensor& t : ctx.inputs) {
      const int64_t run = t.count() / rows;
      for (int64_t i = 0; i < run; ++i)
        index.push_back(first + row * run + i);
      first += t.count();
    }
  }
  return one(OCTET_TRY(take(ctx.inputs, shape, index)));
}

} // namespace

extern const OpFacets facets = {
    .since = 4,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = moves_all,
    .motion = joins_all,
    .range = of_sources,
    .facts = Facts{.of_one_is_it = true, .unchanged = true},
};

} // namespace octet::onnx::op_Concat

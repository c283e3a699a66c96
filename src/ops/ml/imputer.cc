// SPDX-License-Identifier: Apache-2.0
// Imputer (ai.onnx.ml 1). Each element of x that is the replaced value (a NaN for a NaN) becomes
// the imputed one: one number, or one for each element of the last axis. Floats with
// imputed_value_floats, integers with imputed_value_int64s.
#include <cmath>

#include "core/format.h"
#include "ops/ml/scores.h"
#include "ops/shared/elementwise.h"

namespace octet::ml::op_Imputer {
namespace {

/// How many values there are to put in.
Result<int64_t> value_count(const Node& node, DType type) {
  const bool real = is_float(type);
  const size_t count = real ? node.attr_floats("imputed_value_floats").size()
                            : node.attr_ints("imputed_value_int64s").size();
  if (count == 0)
    return error("no {}; {} needs values to put in",
                 real ? "imputed_value_floats" : "imputed_value_int64s", name(type));
  return static_cast<int64_t>(count);
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_input(ctx, 0, kFeatureTypes));
  const TypeInfo& x = ctx.input(0).type;
  if (x.type == DType::kUndefined || !x.has_rank()) return one(x);
  const int64_t count = OCTET_TRY(value_count(ctx.node, x.type));
  if (count != 1) {
    if (x.rank() == 0) return error("{} values for a scalar; give one", count);
    OCTET_TRY(merge_dims(x.shape->back(), Dim(count), "features and imputed values"));
  }
  return one(x);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  if (!is_float(x.type())) {
    const int64_t old = ctx.node.attr_int("replaced_value_int64", 0);
    const auto values = ctx.node.attr_ints("imputed_value_int64s");
    auto all = OCTET_TRY(integer_values(x));
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i] == old) all[i] = values[i % values.size()];
    return one(OCTET_TRY(integer_tensor(x.type(), shape, all)));
  }
  const double old = ctx.node.attr_float("replaced_value_float", 0);
  const auto values = ctx.node.attr_floats("imputed_value_floats");
  auto all = OCTET_TRY(x.to_doubles());
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i] == old || (std::isnan(old) && std::isnan(all[i])))
      all[i] = static_cast<double>(values[i % values.size()]);
  return one(OCTET_TRY(rounded(x.type(), shape, all)));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::ml::op_Imputer

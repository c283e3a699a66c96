// SPDX-License-Identifier: Apache-2.0
// OneHotEncoder (ai.onnx.ml 1). y has an axis more than x, at the end, as long as the list of
// categories: 1 at the first category that the element is, else 0. Numbers are cast to integers
// first. An element that is no category gives zeros, or, with zeros = 0, an error.
#include <algorithm>

#include "core/format.h"
#include "ops/ml/scores.h"
#include "ops/shared/cast_util.h"

namespace octet::ml::op_OneHotEncoder {
namespace {

Result<Labels> parse(const Node& node) {
  return labels_of(node, "cats_int64s", "cats_strings");
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  const Labels categories = OCTET_TRY(parse(ctx.node));
  const bool text = categories.type() == DType::kString;
  OCTET_TRY(check_input(ctx, 0, text ? TypeSet{DType::kString} : kFeatureTypes));
  TypeInfo y = ctx.input(0).type;
  y.type = DType::kFloat32;
  if (y.has_rank()) y.shape->emplace_back(static_cast<int64_t>(categories.size()));
  return one(y);
}

/// For each element the number of its category; the count of categories for none.
Result<std::vector<size_t>> numbers(const Labels& categories, const Tensor& x) {
  std::vector<size_t> out;
  const auto find = [&](const auto& list, const auto& value) {
    out.push_back(static_cast<size_t>(std::find(list.begin(), list.end(), value) - list.begin()));
  };
  if (x.type() == DType::kString) {
    for (const std::string& value : x.string_values())
      find(categories.strings, value);
  } else {
    const Tensor whole = OCTET_TRY(cast(x, DType::kInt64)); // drops fractions
    for (const int64_t value : OCTET_TRY(whole.to_ints()))
      find(categories.ints, value);
  }
  return out;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Labels categories = OCTET_TRY(parse(ctx.node));
  Tensor y = OCTET_TRY(Tensor::zeros(DType::kFloat32, shape));
  const auto to = y.mutable_data<float>();
  const auto found = OCTET_TRY(numbers(categories, ctx.inputs[0]));
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] < categories.size())
      to[i * categories.size() + found[i]] = 1;
    else if (ctx.node.attr_int("zeros", 1) == 0)
      return error("element {} of x is no category; set zeros to 1 to let it give zeros", i);
  }
  return one(y);
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = kNoFacts,
};

} // namespace octet::ml::op_OneHotEncoder

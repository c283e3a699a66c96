// SPDX-License-Identifier: Apache-2.0
// octet.native QAdd (1). a, b: i8/u8, broadcasting. Attributes: a_zero_point, b_zero_point,
// a_ratio, b_ratio (the input's scale over the output's) and y_zero_point, to, lo, hi.
// docs/native-operators.md, docs/numerics.md.
#include "core/format.h"
#include "core/numerics/epilogue.h"
#include "ops/native/epilogue.h"
#include "ops/shared/movement.h"

namespace octet::native::op_QAdd {
namespace {

Result<std::vector<OutputInfo>> infer(const InferContext& c) {
  OCTET_TRY(check_count(c, 2, 2));
  OCTET_TRY(check_input(c, 0, kCodes));
  OCTET_TRY(check_input(c, 1, kCodes));
  const auto a = OCTET_TRY(parse_epilogue(c.node));
  if (!kCodes.has(a.to)) return error("to {}; use i8 (3) or u8 (2)", static_cast<int>(a.to));
  OCTET_TRY(parse_zero_point(c.node, "a_zero_point", c.input(0).type.type));
  OCTET_TRY(parse_zero_point(c.node, "b_zero_point", c.input(1).type.type));
  if (!c.input(0).type.has_rank() || !c.input(1).type.has_rank()) return one(a.to, std::nullopt);
  const std::vector<Dim> shapes[] = {*c.input(0).type.shape, *c.input(1).type.shape};
  return one(a.to, OCTET_TRY(broadcast_dims(shapes)));
}

Result<std::vector<Tensor>> eval(const EvalContext& c) {
  Tensor y = OCTET_TRY(zeros_as_inferred(infer, c));
  const auto attrs = OCTET_TRY(parse_epilogue(c.node));
  const auto a = OCTET_TRY(c.inputs[0].to_ints());
  const auto b = OCTET_TRY(c.inputs[1].to_ints());
  const auto za = static_cast<int32_t>(c.node.attr_int("a_zero_point", 0));
  const auto zb = static_cast<int32_t>(c.node.attr_int("b_zero_point", 0));
  const float ma = c.node.attr_float("a_ratio", 1), mb = c.node.attr_float("b_ratio", 1);
  const auto ia = broadcast_index(c.inputs[0].shape(), y.shape());
  const auto ib = broadcast_index(c.inputs[1].shape(), y.shape());
  auto out = y.mutable_bytes();
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::byte>(
        numerics::add_quantized(static_cast<int32_t>(a[static_cast<size_t>(ia[i])]), za, ma,
                                static_cast<int32_t>(b[static_cast<size_t>(ib[i])]), zb, mb,
                                attrs.zero, attrs.lo, attrs.hi));
  return one(std::move(y));
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = is_lowered,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.on_codes = true},
};

} // namespace octet::native::op_QAdd

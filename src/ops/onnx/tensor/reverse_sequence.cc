// SPDX-License-Identifier: Apache-2.0
// ReverseSequence (opset 10). Along the time axis the first sequence_lens[b] elements of each batch
// entry b come in reverse, the rest as they are.
#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"

namespace octet::onnx::op_ReverseSequence {
namespace {

struct ReverseSequenceAttrs {
  int64_t batch_axis = 1;
  int64_t time_axis = 0;
};

Result<ReverseSequenceAttrs> parse(const Node& node) {
  const ReverseSequenceAttrs a{.batch_axis = node.attr_int("batch_axis", 1),
                               .time_axis = node.attr_int("time_axis", 0)};
  if ((a.batch_axis != 0 || a.time_axis != 1) && (a.batch_axis != 1 || a.time_axis != 0))
    return error("batch_axis and time_axis are {} and {}; one is 0, the other 1", a.batch_axis,
                 a.time_axis);
  return a;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  const ReverseSequenceAttrs a = OCTET_TRY(parse(ctx.node));
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_present(ctx, 0));
  OCTET_TRY(check_input(ctx, 1, kInt64Type));
  const TypeInfo& x = ctx.input(0).type;
  if (x.has_rank() && x.rank() < 2) return error("x is {}; its rank is 2 or more", x.text());
  const auto shape = x.static_shape();
  const auto lengths = ctx.input(1).type.static_shape();
  if (shape && lengths && *lengths != Shape{(*shape)[static_cast<size_t>(a.batch_axis)]})
    return error("sequence_lens has shape {} for x {}; give one length for each batch entry",
                 to_string(*lengths), x.text());
  return one(x);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const ReverseSequenceAttrs a = OCTET_TRY(parse(ctx.node));
  const Tensor& x = ctx.inputs[0];
  const auto lengths = OCTET_TRY(integer_values(ctx.inputs[1]));
  for (int64_t n : lengths)
    if (n < 0 || n > x.dim(a.time_axis))
      return error("a sequence is {} long but the time axis holds {}; shorten it", n,
                   x.dim(a.time_axis));
  const Shape s = strides_of(x.shape());
  auto index = strided_index(x.shape(), s);
  const auto time_axis = static_cast<size_t>(a.time_axis);
  const auto batch_axis = static_cast<size_t>(a.batch_axis);
  for (int64_t& i : index) {
    const int64_t n = lengths[static_cast<size_t>(i / s[batch_axis] % x.shape()[batch_axis])];
    const int64_t time = i / s[time_axis] % x.shape()[time_axis];
    if (time < n) i += (n - 1 - 2 * time) * s[time_axis];
  }
  return one(OCTET_TRY(take(x, x.shape(), index)));
}

} // namespace

extern const OpFacets facets = {
    .since = 10,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = moves_data,
    .motion = moves_first<Motion::Kind::kPermute>,
    .range = of_sources,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_ReverseSequence

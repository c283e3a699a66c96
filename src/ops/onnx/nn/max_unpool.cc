// SPDX-License-Identifier: Apache-2.0
// MaxUnpool (opset 9). Zeros with each element of x at the linear index that MaxPool gave for it,
// in the tensor that MaxPool would have had; output_shape, if given, is that or larger.
#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"
#include "ops/shared/validate.h"

namespace octet::onnx::op_MaxUnpool {
namespace {

/// The shape that the attributes tell.
Result<std::vector<Dim>> own_shape(const Node& node, const TypeInfo& x) {
  const auto kernel = node.attr_ints("kernel_shape");
  auto strides = node.attr_ints("strides"), pads = node.attr_ints("pads");
  if (x.rank() < 3 || static_cast<int64_t>(kernel.size()) != x.rank() - 2)
    return error("kernel_shape has {} entries for x {}; give one for each spatial axis",
                 kernel.size(), x.text());
  if (strides.empty()) strides.assign(kernel.size(), 1);
  if (pads.empty()) pads.assign(2 * kernel.size(), 0);
  if (strides.size() != kernel.size() || pads.size() != 2 * kernel.size())
    return error("strides or pads do not fit {} spatial axes", kernel.size());
  constexpr int64_t kLargest = int64_t{1} << 30;
  std::vector<Dim> out = *x.shape;
  for (size_t i = 0; i < kernel.size(); ++i) {
    for (const int64_t v : {kernel[i], strides[i], pads[i] + 1, pads[kernel.size() + i] + 1})
      if (v < 1 || v > kLargest) return error("kernel_shape, strides or pads are out of range");
    out[i + 2] = (out[i + 2] - Dim(1)) * Dim(strides[i]) +
                 Dim(kernel[i] - pads[i] - pads[kernel.size() + i]);
    if (out[i + 2].is_constant() && out[i + 2].value() < 0)
      return error("spatial axis {} would have {} elements", i, out[i + 2].value());
  }
  return out;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 3));
  OCTET_TRY(check_input(ctx, 0, kFloatTypes));
  OCTET_TRY(check_input(ctx, 1, kInt64Type));
  OCTET_TRY(check_optional(ctx, 2, kInt64Type));
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank()) return one(x.type, std::nullopt);
  std::vector<Dim> own = OCTET_TRY(own_shape(ctx.node, x));
  if (!ctx.has(2)) return one(x.type, own);
  const auto given = known_dims(ctx.input(2));
  if (!given) return one(x.type, unknown_dims(x.rank()));
  if (given->size() != own.size())
    return error("output_shape has {} entries for x {}", given->size(), x.text());
  for (size_t i = 0; i < own.size(); ++i)
    if ((*given)[i].is_constant() && own[i].is_constant() && (*given)[i].value() < own[i].value())
      return error("output_shape[{}] is {}, less than the {} that the pool had", i,
                   (*given)[i].value(), own[i].value());
  return one(x.type, *given);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const Shape shape = OCTET_TRY(infer_shape(infer, ctx));
  const Tensor& x = ctx.inputs[0];
  const auto dims = OCTET_TRY(own_shape(ctx.node, tensor_type(x.type(), x.shape())));
  Shape own;
  for (const Dim& d : dims)
    own.push_back(d.value());
  if (ctx.inputs[1].shape() != x.shape())
    return error("the indices have shape {}, x has {}", to_string(ctx.inputs[1].shape()),
                 to_string(x.shape()));
  const auto indices = OCTET_TRY(integer_values(ctx.inputs[1]));
  const int64_t own_count = product(own);
  // The tensor of the pool lies in the corner of the output.
  const Shape strides = strides_of(shape), own_strides = strides_of(own);
  std::vector<int64_t> from(static_cast<size_t>(product(shape)), x.count());
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= own_count)
      return error("index {} is out of range; the pool had {} elements", indices[i], own_count);
    int64_t at = 0;
    for (size_t axis = 0; axis < own.size(); ++axis)
      at += indices[i] / own_strides[axis] % own[axis] * strides[axis];
    from[static_cast<size_t>(at)] = static_cast<int64_t>(i);
  }
  const Tensor zero = OCTET_TRY(Tensor::zeros(x.type(), {}));
  return one(OCTET_TRY(take(std::vector<Tensor>{x, zero}, shape, from)));
}

} // namespace

extern const OpFacets facets = {
    .since = 9,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = not_quantizable,
    .motion = moves_first<Motion::Kind::kFill>,
    .range = unbounded,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_MaxUnpool

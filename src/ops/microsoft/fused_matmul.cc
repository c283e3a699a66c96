// SPDX-License-Identifier: Apache-2.0
// FusedMatMul (com.microsoft 1). y = alpha * a' @ b' as MatMul; transA and transB swap the last two
// axes of an operand, transBatchA and transBatchB then move its first axis before its last.
#include "core/format.h"
#include "ops/shared/matrix_product.h"
#include "ops/shared/movement.h"
#include "ops/shared/validate.h"

namespace octet::ms::op_FusedMatMul {
namespace {

struct Order {
  bool swap = false, batch = false;
};

Order order_of(const Node& node, const char* swap, const char* batch) {
  return {node.attr_int(swap, 0) != 0, node.attr_int(batch, 0) != 0};
}

/// Axes in their new order. transBatch: [k, b..., m] stands for [b..., k, m], so that the batch
/// axes come first again.
template <class T>
std::vector<T> reordered(std::vector<T> axes, Order order) {
  if (axes.size() < 2) return axes;
  if (order.batch) std::rotate(axes.begin(), axes.begin() + 1, axes.end() - 1);
  if (order.swap) std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return axes;
}

TypeInfo reordered(TypeInfo type, Order order) {
  if (type.shape) type.shape = reordered(*type.shape, order);
  return type;
}

std::vector<double> values_in_order(const std::vector<double>& x, const Shape& shape, Order order) {
  std::vector<double> out;
  for (const int64_t i :
       strided_index(reordered(shape, order), reordered(strides_of(shape), order)))
    out.push_back(x[static_cast<size_t>(i)]);
  return out;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_input(ctx, 0, kFloatTypes));
  OCTET_TRY(check_input(ctx, 1, kFloatTypes));
  const DType type = OCTET_TRY(common_type(ctx, 0, 1));
  const TypeInfo a = reordered(ctx.input(0).type, order_of(ctx.node, "transA", "transBatchA"));
  const TypeInfo b = reordered(ctx.input(1).type, order_of(ctx.node, "transB", "transBatchB"));
  return one(type, OCTET_TRY(matmul_shape(a, b)));
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  const auto outputs = OCTET_TRY(infer_values(infer, ctx));
  const Shape shape = OCTET_TRY(shape_of(outputs[0]));
  const Order left = order_of(ctx.node, "transA", "transBatchA");
  const Order right = order_of(ctx.node, "transB", "transBatchB");
  const Shape &in_a = ctx.inputs[0].shape(), &in_b = ctx.inputs[1].shape();
  const auto a = values_in_order(OCTET_TRY(ctx.inputs[0].to_doubles()), in_a, left);
  const auto b = values_in_order(OCTET_TRY(ctx.inputs[1].to_doubles()), in_b, right);
  auto y = matmul(matmul_sizes(reordered(in_a, left), reordered(in_b, right)), a.data(), b.data());
  const auto alpha = static_cast<double>(ctx.node.attr_float("alpha", 1));
  for (double& v : y)
    v *= alpha;
  return one(OCTET_TRY(rounded(outputs[0].type.type, shape, y)));
}

Role roles(const Node&, size_t) {
  return Role::kWeight;
}

} // namespace

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = roles,
    .quant = not_quantizable,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.products = true},
};

} // namespace octet::ms::op_FusedMatMul

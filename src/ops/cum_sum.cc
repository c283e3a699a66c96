// SPDX-License-Identifier: Apache-2.0
// CumSum (opset 11). The running sum along the axis that the second input names; exclusive leaves
// the element itself out, reverse runs from the end. Sums are kept in double, integers wrap.
#include "ops/elementwise.h"
#include "ops/movement.h"

namespace octet {
namespace {

struct CumSumAttrs {
  bool exclusive = false;
  bool reverse = false;
};

CumSumAttrs parse(const Node& node) {
  return {.exclusive = node.attr_int("exclusive", 0) != 0,
          .reverse = node.attr_int("reverse", 0) != 0};
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_input(ctx, 0, kNumericTypes));
  OCTET_TRY(check_input(ctx, 1, kIndexTypes));
  OCTET_TRY(check_scalar(ctx, 1));
  const TypeInfo& x = ctx.input(0).type;
  if (const auto axis = known_ints(ctx.input(1)); axis && x.has_rank())
    OCTET_TRY(normalize_axis((*axis)[0], x.rank()));
  return one(x);
}

template <class T, class Add>
void accumulate(std::vector<T>& values,
                const Shape& shape,
                int64_t axis,
                const CumSumAttrs& a,
                const Add& add) {
  const Shape strides = strides_of(shape);
  const auto along = static_cast<size_t>(axis);
  const int64_t size = shape[along];
  Shape lines = shape;
  lines[along] = size == 0 ? 0 : 1;
  for (int64_t start : strided_index(lines, strides)) {
    T sum = 0;
    for (int64_t k = 0; k < size; ++k) {
      const int64_t i = a.reverse ? size - 1 - k : k;
      T& at = values[static_cast<size_t>(start + i * strides[along])];
      const T next = add(sum, at);
      at = a.exclusive ? sum : next;
      sum = next;
    }
  }
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const CumSumAttrs a = parse(ctx.node);
  const Tensor& x = ctx.inputs[0];
  const int64_t given = OCTET_TRY(integer_values(ctx.inputs[1]))[0];
  const int64_t axis = OCTET_TRY(normalize_axis(given, x.rank()));
  if (is_float(x.type())) {
    auto values = OCTET_TRY(x.to_doubles());
    accumulate(values, x.shape(), axis, a, [](double s, double v) { return s + v; });
    return one(OCTET_TRY(real_tensor(x.type(), x.shape(), values)));
  }
  auto values = OCTET_TRY(integer_values(x));
  accumulate(values, x.shape(), axis, a, wrap_add);
  return one(OCTET_TRY(integer_tensor(x.type(), x.shape(), values)));
}

} // namespace

extern const OpDef op_onnx_CumSum = {
    .domain = "",
    .name = "CumSum",
    .since = 11,
    .infer = infer,
    .eval = eval,
    .roles = first_is_data,
    .quant = not_quantizable,
};

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// Running results along an axis; see cumulative.h.
#include "ops/shared/cumulative.h"

#include "ops/shared/movement.h"

namespace octet {
namespace {

struct CumulativeAttrs {
  bool exclusive = false;
  bool reverse = false;
};

CumulativeAttrs parse(const Node& node) {
  return {.exclusive = node.attr_int("exclusive", 0) != 0,
          .reverse = node.attr_int("reverse", 0) != 0};
}

template <class T, class F>
void accumulate(std::vector<T>& values,
                const Shape& shape,
                int64_t axis,
                const CumulativeAttrs& a,
                T start,
                const F& f) {
  const Shape strides = strides_of(shape);
  const auto along = static_cast<size_t>(axis);
  const int64_t size = shape[along];
  Shape lines = shape;
  lines[along] = size == 0 ? 0 : 1;
  for (int64_t first : strided_index(lines, strides)) {
    T result = start;
    for (int64_t k = 0; k < size; ++k) {
      const int64_t i = a.reverse ? size - 1 - k : k;
      T& at = values[static_cast<size_t>(first + i * strides[along])];
      const T next = f(result, at);
      at = a.exclusive ? result : next;
      result = next;
    }
  }
}

} // namespace

Result<std::vector<OutputInfo>> infer_cumulative(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 2, 2));
  OCTET_TRY(check_input(ctx, 0, kNumericTypes));
  OCTET_TRY(check_input(ctx, 1, kIndexTypes));
  OCTET_TRY(check_scalar(ctx, 1));
  const TypeInfo& x = ctx.input(0).type;
  if (const auto axis = known_ints(ctx.input(1)); axis && x.has_rank())
    OCTET_TRY(normalize_axis((*axis)[0], x.rank()));
  return one(x);
}

Result<std::vector<Tensor>>
eval_cumulative(const EvalContext& ctx, const BinaryFn& f, int64_t start) {
  OCTET_TRY(infer_values(infer_cumulative, ctx));
  const CumulativeAttrs a = parse(ctx.node);
  const Tensor& x = ctx.inputs[0];
  const int64_t given = OCTET_TRY(integer_values(ctx.inputs[1]))[0];
  const int64_t axis = OCTET_TRY(normalize_axis(given, x.rank()));
  if (is_float(x.type())) {
    auto values = OCTET_TRY(x.to_doubles());
    accumulate(values, x.shape(), axis, a, static_cast<double>(start), f.real);
    return one(OCTET_TRY(real_tensor(x.type(), x.shape(), values)));
  }
  auto values = OCTET_TRY(integer_values(x));
  accumulate(values, x.shape(), axis, a, start, f.integer);
  return one(OCTET_TRY(integer_tensor(x.type(), x.shape(), values)));
}

} // namespace octet

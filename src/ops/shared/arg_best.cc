// SPDX-License-Identifier: Apache-2.0
// The index of the best element along one axis; see arg_best.h.
#include "ops/shared/arg_best.h"

#include <algorithm>
#include <cmath>

#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"

namespace octet {
namespace {

struct ArgBestAttrs {
  int64_t axis = 0;
  bool keep_dims = true;
  bool last = false; ///< of equal elements
};

Result<ArgBestAttrs> parse(const Node& node, int64_t rank) {
  return ArgBestAttrs{.axis = OCTET_TRY(normalize_axis(node.attr_int("axis", 0), rank)),
                      .keep_dims = node.attr_int("keepdims", 1) != 0,
                      .last = node.attr_int("select_last_index", 0) != 0};
}

template <class T, class Above>
std::vector<int64_t> search(const std::vector<T>& values,
                            const Shape& shape,
                            const ArgBestAttrs& a,
                            const Above& above) {
  const auto axis = static_cast<size_t>(a.axis);
  const Shape strides = strides_of(shape);
  Shape lines = shape;
  lines[axis] = 1;
  std::vector<int64_t> out;
  for (int64_t start : strided_index(lines, strides)) {
    const auto value = [&](int64_t i) {
      return values[static_cast<size_t>(start + i * strides[axis])];
    };
    int64_t best = 0;
    for (int64_t i = 1; i < shape[axis]; ++i)
      if (above(value(i), value(best)) || (a.last && !above(value(best), value(i)))) best = i;
    out.push_back(best);
  }
  return out;
}

bool ranks_above(double a, double b, Best best) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  return best == Best::kLargest ? a > b : a < b;
}

} // namespace

Result<std::vector<OutputInfo>> infer_arg_best(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_input(ctx, 0, kNumericTypes));
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank()) return one(DType::kInt64, std::nullopt);
  const ArgBestAttrs a = OCTET_TRY(parse(ctx.node, x.rank()));
  std::vector<Dim> out = *x.shape;
  const bool empty = out[static_cast<size_t>(a.axis)] == Dim(0);
  out[static_cast<size_t>(a.axis)] = 1;
  // Where another axis is empty too nothing is asked.
  if (empty && std::find(out.begin(), out.end(), Dim(0)) == out.end())
    return error("axis {} of {} is empty; there is no best element", a.axis, x.text());
  if (!a.keep_dims) out.erase(out.begin() + a.axis);
  return one(DType::kInt64, out);
}

Result<std::vector<Tensor>> eval_arg_best(const EvalContext& ctx, Best best) {
  const Shape shape = OCTET_TRY(infer_shape(infer_arg_best, ctx));
  const Tensor& x = ctx.inputs[0];
  const ArgBestAttrs a = OCTET_TRY(parse(ctx.node, x.rank()));
  std::vector<int64_t> found;
  if (is_float(x.type())) {
    found = search(OCTET_TRY(x.to_doubles()), x.shape(), a,
                   [best](double p, double q) { return ranks_above(p, q, best); });
  } else {
    const bool natural = !is_signed(x.type());
    found = search(OCTET_TRY(integer_values(x)), x.shape(), a, [=](int64_t p, int64_t q) {
      if (best == Best::kSmallest) std::swap(p, q);
      return natural ? static_cast<uint64_t>(p) > static_cast<uint64_t>(q) : p > q;
    });
  }
  return one(Tensor::of<int64_t>(shape, found));
}

} // namespace octet

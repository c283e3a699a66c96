// SPDX-License-Identifier: Apache-2.0
// Unique (opset 11). The different elements of x (slices along `axis`, elements of x flattened
// without it), sorted or in order of appearance; where each first stands, which of them each
// element of x is, and how often each occurs.
#include <algorithm>
#include <numeric>

#include "core/format.h"
#include "ops/shared/elementwise.h"
#include "ops/shared/movement.h"

namespace octet::onnx::op_Unique {
namespace {

struct UniqueAttrs {
  std::optional<int64_t> axis;
  bool sorted = true;
};

Result<UniqueAttrs> parse(const Node& node, int64_t rank) {
  UniqueAttrs a{.axis = {}, .sorted = node.attr_int("sorted", 1) != 0};
  if (node.has_attr("axis")) a.axis = OCTET_TRY(normalize_axis(node.attr_int("axis", 0), rank));
  return a;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_input(ctx, 0, kNumericTypes | kBoolType));
  const TypeInfo& x = ctx.input(0).type;
  const TypeInfo counts = one(DType::kInt64, unknown_dims(1))[0].type;
  TypeInfo y = x;
  if (!ctx.node.has_attr("axis")) {
    y.shape = unknown_dims(1);
  } else if (x.has_rank()) {
    const UniqueAttrs a = OCTET_TRY(parse(ctx.node, x.rank()));
    (*y.shape)[static_cast<size_t>(*a.axis)] = Dim::unknown();
  }
  return std::vector<OutputInfo>{y, counts, counts, counts};
}

/// The slices of x along an axis, as lists of values that compare.
template <class T>
std::vector<std::vector<T>> slices(const std::vector<T>& values, const Shape& shape, size_t axis) {
  const Shape strides = strides_of(shape);
  std::vector<std::vector<T>> out(static_cast<size_t>(shape[axis]));
  for (size_t i = 0; i < values.size(); ++i)
    out[i / static_cast<size_t>(strides[axis]) % out.size()].push_back(values[i]);
  return out;
}

struct Groups {
  std::vector<int64_t> first, inverse, counts;
};

template <class T>
Groups group(const std::vector<std::vector<T>>& items, bool sorted) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return items[a] < items[b]; });
  // The items of a group stand side by side, the earliest in front.
  std::vector<std::vector<size_t>> groups;
  for (size_t i : order) {
    if (groups.empty() || items[groups.back()[0]] != items[i]) groups.emplace_back();
    groups.back().push_back(i);
  }
  if (!sorted)
    std::sort(groups.begin(), groups.end(),
              [](const auto& a, const auto& b) { return a[0] < b[0]; });
  Groups out;
  out.inverse.resize(items.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    out.first.push_back(static_cast<int64_t>(groups[g][0]));
    out.counts.push_back(static_cast<int64_t>(groups[g].size()));
    for (size_t i : groups[g])
      out.inverse[i] = static_cast<int64_t>(g);
  }
  return out;
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  OCTET_TRY(infer_values(infer, ctx));
  const UniqueAttrs a = OCTET_TRY(parse(ctx.node, ctx.inputs[0].rank()));
  Tensor x = ctx.inputs[0];
  if (!a.axis) x = OCTET_TRY(x.reshaped({x.count()}));
  const auto axis = static_cast<size_t>(a.axis.value_or(0));
  Groups groups;
  if (is_float(x.type())) {
    groups = group(slices(OCTET_TRY(x.to_doubles()), x.shape(), axis), a.sorted);
  } else {
    const auto values = OCTET_TRY(integer_values(x));
    groups =
        x.type() == DType::kUint64
            ? group(slices(std::vector<uint64_t>(values.begin(), values.end()), x.shape(), axis),
                    a.sorted)
            : group(slices(values, x.shape(), axis), a.sorted);
  }
  Shape shape = x.shape();
  shape[axis] = static_cast<int64_t>(groups.first.size());
  const Shape own = strides_of(x.shape());
  const Shape after = strides_of(shape);
  Shape strides = own;
  strides[axis] = 0;
  auto index = strided_index(shape, strides);
  for (size_t i = 0; i < index.size(); ++i) {
    const int64_t g = static_cast<int64_t>(i) / after[axis] % shape[axis];
    index[i] += groups.first[static_cast<size_t>(g)] * own[axis];
  }
  const auto list = [](const std::vector<int64_t>& v) {
    return Tensor::of<int64_t>({static_cast<int64_t>(v.size())}, v);
  };
  return std::vector<Tensor>{OCTET_TRY(take(x, shape, index)), list(groups.first),
                             list(groups.inverse), list(groups.counts)};
}

} // namespace

extern const OpFacets facets = {
    .since = 11,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = moves_data,
    .motion = moves_first<Motion::Kind::kOrder>,
    .range = of_sources,
    .facts = kUnchanged,
};

} // namespace octet::onnx::op_Unique

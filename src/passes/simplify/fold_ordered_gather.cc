// SPDX-License-Identifier: Apache-2.0
//   mask: [B, S] ─▶ Flatten ─▶ Gather(b S + s) ─▶ y: [B, 1, 1, S]     =>    mask ─▶ Reshape ─▶ y
//   mask ─▶ GatherND(pairs (b, s)) ─▶ y: [B, 1, 1, S]                 =>    mask ─▶ Reshape ─▶ y
// Exact: what is gathered lies in this order already. How both of torch's exporters write the
// masks of transformers.
#include "graph/edit.h"
#include "passes/linear_index.h"
#include "passes/match.h"
#include "passes/reshape_target.h"
#include "passes/simplify/rules.h"

namespace octet {

namespace {

/// Whether the index counts the elements of its own shape, row by row.
bool counts_rows(const LinearIndex& index) {
  Dim stride(1);
  for (size_t axis = index.shape.size(); axis-- > 0;) {
    const Dim& size = index.shape[axis];
    if (size == Dim(1)) continue;
    const auto found = index.strides.find(axis);
    if (found == index.strides.end() || !(found->second == stride)) return false;
    stride = stride * size;
  }
  return true;
}

Dim product_of(const std::vector<Dim>& shape) {
  Dim out(1);
  for (const Dim& d : shape)
    out = out * d;
  return out;
}

/// Every element of a constant in its place, up to a million.
bool counts_up(const Tensor& t) {
  if (!is_integer(t.type()) || t.count() > (int64_t{1} << 20)) return false;
  for (int64_t i = 0; i < t.count(); ++i)
    if (t.at(i) != static_cast<double>(i)) return false;
  return true;
}

bool gathers_in_order(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  const TypeInfo& x = g.value(node.input(0)).type;
  if (!x.shape || x.rank() < 1 || node.attr_int("axis", 0) != 0) return false;
  for (size_t axis = 1; axis < x.shape->size(); ++axis)
    if (!((*x.shape)[axis] == Dim(1))) return false;
  if (const Tensor* t = g.constant(node.input(1)))
    return counts_up(*t) && (*x.shape)[0] == Dim(t->count());
  const auto index = linear_index(c, node.input(1));
  return index && counts_rows(*index) && product_of(index->shape) == (*x.shape)[0];
}

/// Pairs as a constant: element (..., 0) counts along one axis, (..., 1) along a later one.
bool constant_pairs_in_order(const Tensor& t, const std::vector<Dim>& x) {
  if (t.rank() < 2 || t.shape().back() != 2 || !x[0].is_constant() || !x[1].is_constant())
    return false;
  if (t.count() != 2 * x[0].value() * x[1].value()) return false;
  const int64_t columns = x[1].value();
  for (int64_t i = 0; i < t.count() / 2; ++i) {
    const int64_t row = i / columns, column = i % columns;
    if (t.at(2 * i) != static_cast<double>(row) || t.at(2 * i + 1) != static_cast<double>(column))
      return false;
  }
  return true;
}

/// GatherND of a matrix by (row, column) pairs that run through it.
bool picks_in_order(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  const TypeInfo& x = g.value(node.input(0)).type;
  if (!x.shape || x.rank() != 2 || node.attr_int("batch_dims", 0) != 0) return false;
  if (const Tensor* t = g.constant(node.input(1))) return constant_pairs_in_order(*t, *x.shape);
  const Node* pairs = made_by(g, node.input(1), "Concat");
  if (pairs == nullptr || pairs->inputs.size() != 2) return false;
  const TypeInfo& type = g.value(node.input(1)).type;
  const int64_t axis = pairs->attr_int("axis", 0);
  if (!type.shape || (axis != -1 && axis != type.rank() - 1)) return false;
  const auto row = linear_index(c, pairs->inputs[0]), column = linear_index(c, pairs->inputs[1]);
  if (!row || !column || row->shape.size() != column->shape.size()) return false;
  if (row->strides.size() != 1 || column->strides.size() != 1) return false;
  const auto [row_axis, row_stride] = *row->strides.begin();
  const auto [column_axis, column_stride] = *column->strides.begin();
  if (!(row_stride == Dim(1)) || !(column_stride == Dim(1)) || row_axis >= column_axis)
    return false;
  for (size_t a = 0; a < row->shape.size(); ++a) {
    const Dim& want = a == row_axis ? (*x.shape)[0] : a == column_axis ? (*x.shape)[1] : Dim(1);
    if (!(row->shape[a] == want) && !(row->shape[a] == Dim(1) && a == column_axis)) return false;
    if (!(column->shape[a] == want) && !(column->shape[a] == Dim(1) && a == row_axis)) return false;
  }
  return true;
}

} // namespace

std::optional<Patch> fold_ordered_gather(const RuleContext& context, const Node& node) {
  const Graph& g = context.graph;
  const bool in_order = (node.is("Gather") && gathers_in_order(context, node)) ||
                        (node.is("GatherND") && picks_in_order(context, node));
  if (!in_order || g.opset() < 5) return std::nullopt;
  const auto& y = g.value(node.output(0)).type.shape;
  if (!y) return std::nullopt;
  // The elements keep their order through reshapes: the first tensor that says enough is taken.
  ValueId x = node.input(0);
  auto target = reshape_target(g.value(x).type, *y);
  for (const Node* before = g.producer(x); !target && before != nullptr && only_reshapes(*before);
       before = g.producer(x)) {
    x = before->input(0);
    target = reshape_target(g.value(x).type, *y);
  }
  if (!target) return std::nullopt;
  Patch patch(g, "what is gathered lies in this order already", Exactness::kExact);
  patch.from(node);
  const ValueId sizes = patch.constant(g.value(node.output(0)).name + "/shape", int_list(*target));
  patch.replace(node.output(0), patch.emit("Reshape", {x, sizes}, {}, node.name));
  return patch;
}

} // namespace octet

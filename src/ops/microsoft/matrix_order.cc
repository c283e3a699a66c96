// SPDX-License-Identifier: Apache-2.0
#include "ops/microsoft/matrix_order.h"

#include <algorithm>
#include <array>

#include "core/format.h"
#include "graph/domains.h"
#include "ops/shared/movement.h"
#include "ops/shared/validate.h"

namespace octet::ms {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"ORDER_COL", "ORDER_ROW", "ORDER_COL32",
                                                    "ORDER_COL4_4R2_8C", "ORDER_COL32_2R_4R4"};

struct Tile {
  int64_t rows = 1, columns = 1;
};

Tile tile_of(MatrixOrder order) {
  if (order == MatrixOrder::kCol32) return {1, 32};
  if (order == MatrixOrder::kTuring) return {8, 32};
  if (order == MatrixOrder::kAmpere) return {32, 32};
  return {};
}

/// Where element i of a tensor of row-major matrices lies when they are in `order`: the element of
/// the source for each element of the result.
Result<std::vector<int64_t>> sources(std::span<const int64_t> shape, MatrixOrder order) {
  if (shape.empty()) return error("a scalar has no {}; give a matrix", name(order));
  const int64_t columns = shape.back(), rows = shape.size() > 1 ? shape[shape.size() - 2] : 1;
  const OrderAxes axes = OCTET_TRY(order_axes(order, rows, columns));
  const Shape strides = strides_of(axes.split);
  const int64_t matrices = shape.size() > 2 ? product(shape, 0, shape.size() - 2) : 1;
  Shape to = {matrices}, steps = {rows * columns};
  for (const int64_t axis : axes.perm) {
    to.push_back(axes.split[static_cast<size_t>(axis)]);
    steps.push_back(strides[static_cast<size_t>(axis)]);
  }
  return strided_index(to, steps);
}

Shape transposed(Shape shape) {
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape;
}

} // namespace

bool is_ordered(const Node& node) {
  return node.domain == kMicrosoft &&
         (node.op_type.starts_with("QOrdered") || node.op_type.ends_with("WithOrder"));
}

std::string_view name(MatrixOrder order) {
  return kNames.at(static_cast<size_t>(order));
}

Result<MatrixOrder>
parse_order(const Node& node, const char* attribute, std::optional<MatrixOrder> otherwise) {
  if (otherwise && node.attributes.find(attribute) == node.attributes.end()) return *otherwise;
  const int64_t value = node.attr_int(attribute, -1);
  if (value < 0 || value >= static_cast<int64_t>(kNames.size()))
    return error("{} is {}; give an order from 0 (ORDER_COL) to 4 (ORDER_COL32_2R_4R4)", attribute,
                 value);
  return static_cast<MatrixOrder>(value);
}

Result<OrderAxes> order_axes(MatrixOrder order, int64_t rows, int64_t columns) {
  const Tile tile = tile_of(order);
  if (rows % tile.rows != 0 || columns % tile.columns != 0)
    return error("{} is made of tiles of {} by {}, and the matrix is {} by {}; pad it", name(order),
                 tile.rows, tile.columns, rows, columns);
  const int64_t down = rows / tile.rows, across = columns / tile.columns;
  switch (order) {
  case MatrixOrder::kColumns:
    return OrderAxes{{rows, columns}, {1, 0}};
  case MatrixOrder::kRows:
    return OrderAxes{{rows, columns}, {0, 1}};
  case MatrixOrder::kCol32:
    return OrderAxes{{rows, across, 32}, {1, 0, 2}};
  case MatrixOrder::kTuring:
    return OrderAxes{{down, 4, 2, across, 8, 4}, {3, 0, 2, 4, 1, 5}};
  case MatrixOrder::kAmpere:
    return OrderAxes{{down, 4, 4, 2, across, 32}, {4, 0, 2, 1, 3, 5}};
  }
  return Error("no such order");
}

Status check_tiles(const TypeInfo& type, MatrixOrder order) {
  if (!type.has_rank()) return ok_status();
  const auto& dims = *type.shape;
  if (dims.empty()) return error("a scalar has no {}; give a matrix", name(order));
  const auto known = [&](const Dim& d, int64_t otherwise) {
    return d.maybe_value().value_or(otherwise);
  };
  const Tile tile = tile_of(order);
  const int64_t rows = dims.size() > 1 ? known(dims[dims.size() - 2], tile.rows) : 1;
  OCTET_TRY(order_axes(order, rows, known(dims.back(), tile.columns)));
  return ok_status();
}

Result<Tensor> reorder(const Tensor& x, MatrixOrder from, MatrixOrder to) {
  if (from == to) return x;
  Tensor rows = x;
  if (from != MatrixOrder::kRows) {
    const auto index = OCTET_TRY(sources(x.shape(), from));
    std::vector<int64_t> back(index.size());
    for (size_t i = 0; i < index.size(); ++i)
      back[static_cast<size_t>(index[i])] = static_cast<int64_t>(i);
    rows = OCTET_TRY(take(x, x.shape(), back));
  }
  if (to == MatrixOrder::kRows) return rows;
  return take(rows, x.shape(), OCTET_TRY(sources(x.shape(), to)));
}

Status check_orders(const Node& node, const TypeInfo& type) {
  for (const char* order : {"order_input", "order_output"})
    OCTET_TRY(check_tiles(type, OCTET_TRY(parse_order(node, order))));
  return ok_status();
}

Result<Tensor> reorder(const Tensor& x, const Node& node) {
  return reorder(x, OCTET_TRY(parse_order(node, "order_input")),
                 OCTET_TRY(parse_order(node, "order_output")));
}

Result<MatrixOrder> same_order(const Node& node, std::optional<MatrixOrder> y_otherwise) {
  const auto x = OCTET_TRY(parse_order(node, "order_X", MatrixOrder::kRows));
  const auto y = OCTET_TRY(parse_order(node, "order_Y", y_otherwise.value_or(x)));
  if (x != y) return error("order_X is {} and order_Y {}; make them equal", name(x), name(y));
  return x;
}

Result<Tensor> weight_rows(const Tensor& w, MatrixOrder order) {
  if (order == MatrixOrder::kColumns || order == MatrixOrder::kRows)
    return reorder(w, order, MatrixOrder::kRows);
  const Tensor turned =
      OCTET_TRY(reorder(OCTET_TRY(w.reshaped(transposed(w.shape()))), order, MatrixOrder::kRows));
  return reorder(OCTET_TRY(turned.reshaped(w.shape())), MatrixOrder::kColumns, MatrixOrder::kRows);
}

} // namespace octet::ms

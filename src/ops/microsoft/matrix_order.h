// SPDX-License-Identifier: Apache-2.0
// The orders in which cublasLt keeps the elements of an int8 matrix, as the ordered operators of
// com.microsoft name them. A tensor of any order has the shape of its matrices, [.., rows, columns]
// (a vector is one row); only the bytes of each matrix are permuted.
// Source: NVIDIA, cublasLt.h, cublasLtOrder_t; ONNX Runtime, docs/ContribOperators.md.
#pragma once

#include <string_view>

#include "ops/op.h"

namespace octet::ms {

enum class MatrixOrder {
  kColumns = 0, ///< column after column
  kRows = 1,    ///< row after row, as ONNX has it
  kCol32 = 2,   ///< groups of 32 columns, each row after row
  kTuring = 3,  ///< COL4_4R2_8C: tiles of 8 rows by 32 columns, even rows before odd ones
  kAmpere = 4,  ///< COL32_2R_4R4: tiles of 32 by 32
};

/// Whether a node is one of the operators on these orders.
bool is_ordered(const Node& node);

/// ORDER_COL, ORDER_ROW, ORDER_COL32, ORDER_COL4_4R2_8C, ORDER_COL32_2R_4R4.
std::string_view name(MatrixOrder order);
/// Errors: an attribute that is missing (unless there is an `otherwise`) or no order.
Result<MatrixOrder>
parse_order(const Node& node, const char* attribute, std::optional<MatrixOrder> otherwise = {});

/// A row-major matrix, reshaped to `split` and transposed by `perm`, lies in the order.
struct OrderAxes {
  Shape split;
  std::vector<int64_t> perm;
};
/// Errors: a matrix that is not made of whole tiles.
Result<OrderAxes> order_axes(MatrixOrder order, int64_t rows, int64_t columns);
/// The same error, as far as sizes are known.
Status check_tiles(const TypeInfo& type, MatrixOrder order);

/// Every matrix of a tensor from one order into the other. Errors: rank 0, tiles that are not
/// whole.
Result<Tensor> reorder(const Tensor& x, MatrixOrder from, MatrixOrder to);

/// The two orders of a node that moves a tensor, order_input and order_output.
Status check_orders(const Node& node, const TypeInfo& type);
Result<Tensor> reorder(const Tensor& x, const Node& node);
/// order_X (ORDER_ROW where it is missing) of a node whose order_Y has to be the same;
/// `y_otherwise` (order_X): where order_Y is missing.
Result<MatrixOrder> same_order(const Node& node, std::optional<MatrixOrder> y_otherwise = {});

/// Weights [.., K, N] as the second operand of an ordered product, row after row. ORDER_COL is that
/// of [K, N]; the tiled orders are those of the transposed matrix, [N, K].
Result<Tensor> weight_rows(const Tensor& w, MatrixOrder order);

} // namespace octet::ms

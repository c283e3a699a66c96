// SPDX-License-Identifier: Apache-2.0
// What the rules for the ordered operators of com.microsoft share: int8 codes with zero point 0 and
// the orders of cublasLt (ops/ms/matrix_order.h), as Q, DQ and movement of ai.onnx.
#pragma once

#include <string>

#include "ops/microsoft/matrix_order.h"
#include "passes/standardize/standard_operators.h"

namespace octet {

class OrderedCodes {
 public:
  OrderedCodes(const Graph& graph, const Node& node, Patch& patch)
      : g_(graph), node_(node), patch_(patch) {}

  std::string name(const char* part) const { return node_.name + "/" + part; }
  /// Input `i` is a constant of one element, or (`columns`) a vector that DQ takes.
  bool has_scale(size_t i, bool columns = false) const;
  /// DQ and Q with the scale at input `scale`.
  ValueId values(ValueId codes, size_t scale, const std::string& as);
  ValueId codes(ValueId x, size_t scale, const std::string& as);
  /// DQ of constant weights, row after row, with one scale or one for each column. `flat`: matrices
  /// lose a leading 1. Invalid where the weights are no constant or do not fit their order.
  ValueId
  weight(size_t codes, size_t scale, ms::MatrixOrder order, bool flat, const std::string& as);
  /// Values with the shape of `like` from one order into the other. Invalid where rows and columns
  /// are not known.
  ValueId reorder(ValueId x,
                  const TypeInfo& like,
                  ms::MatrixOrder from,
                  ms::MatrixOrder to,
                  const std::string& as);
  /// f32, or f16 or f32 as `type` says.
  ValueId cast(ValueId x, DType type, const std::string& as);

 private:
  ValueId scale(size_t i);
  ValueId zero();

  const Graph& g_;
  const Node& node_;
  Patch& patch_;
  ValueId zero_;
};

} // namespace octet

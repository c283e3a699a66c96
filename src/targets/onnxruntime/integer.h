// SPDX-License-Identifier: Apache-2.0
// What ONNX Runtime's CPU provider makes of operators that are integer in the file: QLinear*,
// com.microsoft's, and DynamicQuantizeLinear before MatMulInteger. Source: docs/targets.md 8.
#pragma once

#include <map>

#include "targets/checks.h"
#include "targets/onnxruntime/codes.h"

namespace octet {

/// True of operators whose kernels multiply or look up 8-bit codes.
bool computes_in_integers(const Node& node);

/// MatMulInteger-Cast-Mul(-Add) with the scales' Mul and DynamicQuantizeLinear, which become one.
class DynamicProducts {
 public:
  DynamicProducts(const Graph& graph, const OnnxRuntimeCodes& codes);

  /// kDynamicQuantizeMatMul or kMatMulIntegerToFloat; kAsWritten where it stays.
  OnnxRuntimeForm form(const Node& product) const;
  /// The product that computes the node; nullptr: none does.
  const Node* product_of(const Node& node) const;

 private:
  void fuse(const Node& product);
  bool is_merged(const Node& scales) const;

  const Graph& graph_;
  const OnnxRuntimeCodes& codes_;
  std::map<NodeId, OnnxRuntimeForm> forms_;
  std::map<NodeId, NodeId> product_of_;
};

} // namespace octet

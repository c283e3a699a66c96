// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear and DequantizeLinear, of ONNX and of com.microsoft.
#pragma once

#include "graph/domains.h"

#include "octet/graph.h"

namespace octet {

inline bool is_quantize(const Node& node) {
  return node.is("QuantizeLinear") || node.is("QuantizeLinear", kMicrosoft);
}
inline bool is_dequantize(const Node& node) {
  return node.is("DequantizeLinear") || node.is("DequantizeLinear", kMicrosoft);
}
inline bool is_qdq(const Node& node) {
  return is_quantize(node) || is_dequantize(node);
}
/// The codes that Q makes or DQ takes.
inline ValueId codes_of_qdq(const Node& node) {
  return is_quantize(node) ? node.output(0) : node.input(0);
}

} // namespace octet

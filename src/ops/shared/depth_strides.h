// SPDX-License-Identifier: Apache-2.0
// DepthToSpace: where among the channels of x the places of a block lie.
#pragma once

#include "octet/graph.h"

namespace octet {

/// Channels of x from one row, column or channel of y to the next.
struct DepthStrides {
  int64_t row = 0, column = 0, channel = 0;
};

/// `node`: a DepthToSpace of ONNX's or octet.native's. Blocks of rows x columns, y of `channels`.
inline DepthStrides
depth_strides(const Node& node, int64_t rows, int64_t columns, int64_t channels) {
  if (node.attr_string("mode", "DCR") == "CRD") return {columns, 1, rows * columns};
  return {columns * channels, channels, 1};
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// Weights of which no two products exceed int16: for runtimes that multiply by vpmaddubsw.
#pragma once

#include "octet/graph.h"
#include "octet/quantize.h"

namespace octet {

/// Makes the ranges of int8 weights wider, each by the least factor (in steps of 0.2 %) at which the
/// codes of two neighbours along a sum, times any uint8 codes, fit into int16. Its note says by how
/// much. `reader`: whose weight it is. Other operators than Conv, Gemm, MatMul and recurrent ones,
/// other formats, blocks, and matrices with another number of axes than 2 stay as they are.
Status reduce_range(const Node& reader, const Tensor& weight, TensorPlan& plan);

} // namespace octet

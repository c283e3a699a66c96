// SPDX-License-Identifier: Apache-2.0
// What an ONNX graph's outputs may be: every value in double, and for each element how far an
// executor that computes in float may be from it. QuantizeLinear cuts the error off: an element
// whose value is no nearer to a tie than its error has one code only, and no error from there on.
#pragma once

#include <span>
#include <vector>

#include "octet/graph.h"

namespace octet::differential {

/// Whose rounding the bounds allow for.
enum class Rounding {
  kFloat, ///< executors that compute what the graph says, in any order of sums
  kCodes, ///< operators on codes too: a bias becomes a multiple of the scales' product, and ONNX
          ///< Runtime's QLinearSoftmax cuts digits off (docs/export.md)
};

struct Bounded {
  Tensor value;            ///< f64 for real numbers; codes and integers in their own type
  Tensor error;            ///< f64, of the same shape; empty: none
  double scale = 0;        ///< behind DequantizeLinear: its largest scale
  bool is_softmax = false; ///< made by Softmax, perhaps moved or clipped since
};

/// The values of the graph's outputs. Errors: an operator without a rule, what the reference
/// refuses.
Result<std::vector<Bounded>>
bound_outputs(const Graph& graph, std::span<const Tensor> inputs, Rounding rounding);

} // namespace octet::differential

// SPDX-License-Identifier: Apache-2.0
// Softmax, LogSoftmax and Hardmax: which elements belong together. Since opset 13 those along one
// axis; before, the tensor counts as a matrix cut at the axis, and its rows belong together.
#pragma once

#include "ops/shared/types.h"

namespace octet {

struct AxisSplit {
  int64_t outer = 1, count = 1,
          inner = 1; ///< element (o, k, i) lies at (o * count + k) * inner + i
};

/// Axes from `begin` up to `end`.
struct AxisRange {
  int64_t begin = 0, end = 0;
};
/// Those whose elements belong together; outside of the rank where the axis is.
AxisRange axes_together(const Node& node, int64_t version, int64_t rank);

/// Validates the axis (default 1 before opset 13, then -1); the output is like the input.
Result<std::vector<OutputInfo>> infer_along_axis(const InferContext& ctx);
/// For inputs that passed.
AxisSplit axis_split(const EvalContext& ctx);

/// Calls fn on the `count` doubles of each (o, i), gathered, and puts back what it leaves there.
template <class Fn>
void for_each_line(const AxisSplit& s, std::vector<double>& x, Fn fn) {
  std::vector<double> line(static_cast<size_t>(s.count));
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t i = 0; i < s.inner; ++i) {
      for (size_t k = 0; k < line.size(); ++k)
        line[k] = x[static_cast<size_t>((o * s.count + static_cast<int64_t>(k)) * s.inner + i)];
      fn(line);
      for (size_t k = 0; k < line.size(); ++k)
        x[static_cast<size_t>((o * s.count + static_cast<int64_t>(k)) * s.inner + i)] = line[k];
    }
}

/// exp(x - max) / sum; NaN where the line holds NaN or +infinity.
void softmax_line(std::vector<double>& line);
/// x - max - log(sum of exp(x - max)).
void log_softmax_line(std::vector<double>& line);

} // namespace octet

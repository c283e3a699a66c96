// SPDX-License-Identifier: Apache-2.0
// Which elements Softmax, LogSoftmax and Hardmax take together, and the two functions of a line.
#include "ops/shared/axis_split.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/shared/validate.h"

namespace octet {
namespace {

int64_t axis_of(const Node& node, int64_t version) {
  return node.attr_int("axis", version < 13 ? 1 : -1);
}

double maximum(const std::vector<double>& line) {
  double largest = -std::numeric_limits<double>::infinity();
  for (double v : line)
    if (v > largest || std::isnan(v)) largest = v;
  return largest;
}

} // namespace

AxisRange axes_together(const Node& node, int64_t version, int64_t rank) {
  const int64_t stated = axis_of(node, version);
  const int64_t axis = stated < 0 ? stated + rank : stated;
  return {axis, version < 13 ? rank : axis + 1};
}

Result<std::vector<OutputInfo>> infer_along_axis(const InferContext& c) {
  OCTET_TRY(check_count(c, 1, 1));
  OCTET_TRY(check_input(c, 0, kFloatTypes));
  const TypeInfo& x = c.input(0).type;
  if (x.has_rank() && !(c.version < 13 && axis_of(c.node, c.version) == x.rank()))
    OCTET_TRY(normalize_axis(axis_of(c.node, c.version), x.rank()));
  return one(x);
}

AxisSplit axis_split(const EvalContext& c) {
  const Shape& shape = c.inputs[0].shape();
  const AxisRange axes = axes_together(c.node, c.version, c.inputs[0].rank());
  const auto begin = static_cast<size_t>(axes.begin), end = static_cast<size_t>(axes.end);
  return {product(shape, 0, begin), product(shape, begin, end), product(shape, end, shape.size())};
}

void softmax_line(std::vector<double>& line) {
  const double largest = maximum(line);
  double sum = 0;
  for (double& v : line) {
    v = std::exp(v - largest);
    sum += v;
  }
  for (double& v : line)
    v /= sum;
}

void log_softmax_line(std::vector<double>& line) {
  const double largest = maximum(line);
  double sum = 0;
  for (double v : line)
    sum += std::exp(v - largest);
  for (double& v : line)
    v = v - largest - std::log(sum);
}

} // namespace octet

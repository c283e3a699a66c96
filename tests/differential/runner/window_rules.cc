// SPDX-License-Identifier: Apache-2.0
// What moves elements, pools and reductions.
#include <algorithm>
#include <set>

#include "runner/arrays.h"
#include "runner/rows.h"
#include "runner/rules.h"

namespace octet::differential {
namespace {

using Outputs = Result<std::vector<Bounded>>;

const std::set<std::string_view> kMoves = {
    "Reshape", "Flatten",  "Transpose", "Squeeze",       "Unsqueeze", "Concat",    "Split",
    "Slice",   "Gather",   "Where",     "Expand",        "Tile",      "Pad",       "DepthToSpace",
    "Shape",   "Constant", "MaxPool",   "GlobalMaxPool", "ReduceMax", "ReduceMin", "SpaceToDepth",
};

/// The same node on errors: what fills gaps has none, and a smallest value is off by the largest
/// error at most.
Node on_errors(const Node& node) {
  Node out = node;
  if (node.is("ReduceMin")) out.op_type = "ReduceMax";
  if (node.is("Pad") && node.has_attr("value")) out.set("value", 0.0F);
  return out;
}

Outputs move(const Step& s) {
  const std::vector<Tensor> values = OCTET_TRY(s.run(s.values()));
  std::vector<Bounded> out(values.size());
  std::vector<Tensor> operands = s.values();
  bool uncertain = false, softmax = false;
  double scale = 0;
  for (size_t i = 0; i < s.in.size(); ++i) {
    const Bounded& x = s.in[i];
    uncertain = uncertain || !x.error.empty();
    softmax = softmax || x.is_softmax;
    scale = std::max(scale, x.scale);
    if (!x.error.empty())
      operands[i] = x.error;
    else if (is_real(x.value) || x.value.type() == values.at(0).type())
      operands[i] = zeros_like(x.value);
  }
  std::vector<Tensor> errors;
  if (uncertain) errors = OCTET_TRY(s.run(on_errors(s.node), operands));
  for (size_t k = 0; k < out.size(); ++k)
    out[k] = {.value = values[k],
              .error = uncertain ? errors.at(k) : Tensor{},
              .scale = scale,
              .is_softmax = softmax};
  return out;
}

/// Averages and sums: the operator on errors, and the rounding of the sum.
Outputs average(const Step& s) {
  Bounded out;
  std::vector<Tensor> operands = s.values();
  out.value = OCTET_TRY(s.run(operands)).at(0);
  operands[0] = or_zeros(s.in[0].error, s.in[0].value);
  out.error = OCTET_TRY(s.run(operands)).at(0);
  operands[0] = magnitude(s.in[0].value);
  double count = static_cast<double>(s.in[0].value.count()) /
                 static_cast<double>(std::max<int64_t>(out.value.count(), 1));
  for (const int64_t k : s.node.attr_ints("kernel_shape"))
    count = std::max(count, static_cast<double>(k * k));
  const double rounding = std::max(2 * std::sqrt(count) + 6, count / 3) * kRounding;
  out.error = plus(out.error, times(OCTET_TRY(s.run(operands)).at(0), rounding));
  return std::vector<Bounded>{std::move(out)};
}

/// Weights come from coordinates in float, which are as large as the axis is long.
Outputs resize(const Step& s) {
  Bounded out;
  std::vector<Tensor> operands = s.values();
  out.value = OCTET_TRY(s.run(operands)).at(0);
  operands[0] = or_zeros(s.in[0].error, s.in[0].value);
  out.error = OCTET_TRY(s.run(operands)).at(0);
  if (s.node.attr_string("mode", "nearest") != "nearest") {
    const Shape& shape = s.in[0].value.shape();
    const int64_t longest = shape.empty() ? 1 : *std::max_element(shape.begin(), shape.end());
    const double coordinates = 4 * static_cast<double>(longest);
    const double rounding = (16 + coordinates) * kRounding * largest(s.in[0].value);
    out.error = map(out.error, [rounding](double e) { return e + rounding; });
  }
  return std::vector<Bounded>{std::move(out)};
}

Outputs softmax(const Step& s) {
  Bounded out;
  out.is_softmax = true;
  const Tensor& x = s.in[0].value;
  out.value = OCTET_TRY(s.run(s.values())).at(0);
  const bool flattens = s.graph.opset() < 13;
  const int64_t axis = wrapped_axis(s, flattens ? 1 : -1);
  const std::vector<double> e = or_zeros(s.in[0].error, x).to_doubles().value();
  const std::vector<double> v = x.to_doubles().value();
  const std::vector<double> y = out.value.to_doubles().value();
  std::vector<double> err(e.size());
  const Rows all = rows(x, axis, flattens ? x.rank() : axis + 1);
  all.each([&](auto at) {
    double worst = 0, reach = 0;
    for (int64_t k = 0; k < all.length; ++k) {
      worst = std::max(worst, e[at(k)]);
      reach = std::max(reach, std::fabs(v[at(k)]));
    }
    const bool any = 2 * worst > 700; // more than a double holds
    const double passed_on = std::expm1(std::min(2 * worst, 700.0));
    const double rounding = kRounding * (32 + 4 * reach + static_cast<double>(all.length));
    for (int64_t k = 0; k < all.length; ++k)
      err[at(k)] = any ? 1.0 : std::min(y[at(k)] * (passed_on + rounding) + 1e-9, 1.0);
  });
  out.error = Tensor::of<double>(x.shape(), std::span<const double>(err));
  return std::vector<Bounded>{std::move(out)};
}

} // namespace

Rule* find_window_rule(std::string_view op) {
  if (kMoves.contains(op)) return move;
  for (const std::string_view known :
       {"AveragePool", "GlobalAveragePool", "ReduceMean", "ReduceSum", "ReduceL2"})
    if (op == known) return average;
  if (op == "Resize" || op == "Upsample") return resize;
  if (op == "Softmax") return softmax;
  return nullptr;
}

} // namespace octet::differential

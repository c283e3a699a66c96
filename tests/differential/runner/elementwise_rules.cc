// SPDX-License-Identifier: Apache-2.0
// Functions of single elements, with and without broadcast.
#include <algorithm>
#include <map>

#include "runner/arrays.h"
#include "runner/rules.h"

namespace octet::differential {
namespace {

using Outputs = Result<std::vector<Bounded>>;

/// A function of one element: the error grows by the steepest slope at most.
struct Function {
  double slope;    ///< steepest
  double relative; ///< rounding, in units of the result
  double absolute; ///< of executors' approximations, in units of 1e-7
};
const std::map<std::string_view, Function> kFunctions = {
    {"Relu", {1, 0, 0}},         {"Clip", {1, 0, 0}},        {"Identity", {1, 0, 0}},
    {"Dropout", {1, 0, 0}},      {"Abs", {1, 0, 0}},         {"Neg", {1, 0, 0}},
    {"Sigmoid", {0.25, 16, 5}},  {"Tanh", {1, 16, 5}},       {"Erf", {1.13, 16, 5}},
    {"HardSwish", {1.5, 16, 1}}, {"HardSigmoid", {1, 8, 1}}, {"Softplus", {1, 16, 5}},
    {"Softsign", {1, 8, 0}},     {"Elu", {1, 16, 5}},        {"Mish", {1.1, 32, 10}},
    {"Selu", {1.76, 16, 10}},    {"Celu", {1, 16, 5}},
};

Outputs function(const Step& s) {
  const Function f = kFunctions.find(s.node.op_type)->second;
  Bounded out;
  out.value = OCTET_TRY(s.run(s.values())).at(0);
  const double slope =
      s.node.is("Elu")
          ? std::max(1.0, static_cast<double>(std::fabs(s.node.attr_float("alpha", 1))))
          : f.slope;
  // What clips nothing that codes have leaves them those of Softmax.
  out.is_softmax = s.in[0].is_softmax && (s.node.is("Clip") || s.node.is("Relu") ||
                                          s.node.is("Identity") || s.node.is("Dropout"));
  out.error = times(s.in[0].error, slope);
  if (f.relative != 0)
    out.error = plus(out.error, map(out.value, [f](double y) {
                       return f.relative * kRounding * std::fabs(y) + f.absolute * 1e-7;
                     }));
  return std::vector<Bounded>{std::move(out)};
}

/// x times something between 0 and 1 (and slightly beyond): the approximation's error grows with x.
Outputs gelu(const Step& s) {
  Bounded out;
  out.value = OCTET_TRY(s.run(s.values())).at(0);
  out.error = plus(times(s.in[0].error, 1.13),
                   map(s.in[0].value, [](double x) { return 5e-7 * std::fabs(x) + 1e-7; }));
  return std::vector<Bounded>{std::move(out)};
}

Outputs leaky_relu(const Step& s) {
  Bounded out;
  out.value = OCTET_TRY(s.run(s.values())).at(0);
  const double alpha = static_cast<double>(s.node.attr_float("alpha", 0.01F));
  out.error = plus(times(s.in[0].error, std::max(1.0, std::fabs(alpha))),
                   times(magnitude(out.value), 2 * kRounding));
  return std::vector<Bounded>{std::move(out)};
}

Outputs prelu(const Step& s) {
  Bounded out;
  out.value = OCTET_TRY(s.run(s.values())).at(0);
  const Tensor slope = map(s.in[1].value, [](double v) { return std::max(1.0, std::fabs(v)); });
  Tensor slope_error = or_zeros(s.in[1].error, s.in[1].value);
  out.error = OCTET_TRY(s.broadcast("Mul", or_zeros(s.in[0].error, s.in[0].value), slope));
  out.error = plus(out.error, OCTET_TRY(s.broadcast("Mul", magnitude(s.in[0].value), slope_error)));
  out.error = plus(out.error, times(magnitude(out.value), 2 * kRounding));
  return std::vector<Bounded>{std::move(out)};
}

Outputs sum_or_difference(const Step& s) {
  Bounded out;
  out.value = OCTET_TRY(s.run(s.values())).at(0);
  const Bounded& a = s.in[0];
  const Bounded& b = s.in[1];
  const auto widened = [](const Bounded& x) {
    return plus(or_zeros(x.error, x.value), times(magnitude(x.value), 4 * kRounding));
  };
  // Integers (shapes, codes) are exact.
  if (is_real(out.value)) out.error = OCTET_TRY(s.broadcast("Add", widened(a), widened(b)));
  return std::vector<Bounded>{std::move(out)};
}

Outputs multiplication(const Step& s) {
  Bounded out;
  out.value = OCTET_TRY(s.run(s.values())).at(0);
  if (!is_real(out.value)) return std::vector<Bounded>{std::move(out)};
  const Bounded& a = s.in[0];
  const Bounded& b = s.in[1];
  const Tensor ea = or_zeros(a.error, a.value), eb = or_zeros(b.error, b.value);
  out.error = plus(OCTET_TRY(s.broadcast("Mul", magnitude(a.value), eb)),
                   OCTET_TRY(s.broadcast("Mul", ea, plus(magnitude(b.value), b.error))));
  out.error = plus(out.error, times(magnitude(out.value), 4 * kRounding));
  return std::vector<Bounded>{std::move(out)};
}

Outputs division(const Step& s) {
  Bounded out;
  out.value = OCTET_TRY(s.run(s.values())).at(0);
  if (!is_real(out.value)) return std::vector<Bounded>{std::move(out)};
  const Bounded& a = s.in[0];
  const Bounded& b = s.in[1];
  const Tensor nearest = map(b.value, or_zeros(b.error, b.value),
                             [](double v, double e) { return std::max(std::fabs(v) - e, 1e-30); });
  const Tensor ones = map(nearest, [](double v) { return 1 / v; });
  const Tensor by_a = OCTET_TRY(s.broadcast("Mul", or_zeros(a.error, a.value), ones));
  const Tensor relative = map(or_zeros(b.error, b.value), nearest,
                              [](double e, double v) { return e / v + 4 * kRounding; });
  out.error = plus(
      by_a, OCTET_TRY(s.broadcast(
                "Mul", map(out.value, by_a, [](double y, double e) { return std::fabs(y) + e; }),
                relative)));
  return std::vector<Bounded>{std::move(out)};
}

/// Max, Min: no further off than the operand that is the furthest off.
Outputs selection(const Step& s) {
  Bounded out;
  out.value = OCTET_TRY(s.run(s.values())).at(0);
  Node node = s.node;
  node.op_type = "Max";
  std::vector<Tensor> errors;
  for (const Bounded& operand : s.in)
    errors.push_back(or_zeros(operand.error, operand.value));
  out.error = OCTET_TRY(s.run(node, errors)).at(0);
  return std::vector<Bounded>{std::move(out)};
}

/// Growing functions: the values at both ends of the interval.
Outputs growing(const Step& s) {
  Bounded out;
  out.value = OCTET_TRY(s.run(s.values())).at(0);
  const Bounded& x = s.in[0];
  const double lowest = s.node.is("Sqrt") || s.node.is("Log") ? 0 : -1e30;
  Tensor ends;
  for (const double sign : {1.0, -1.0}) {
    const Tensor moved = map(x.value, or_zeros(x.error, x.value), [&](double v, double e) {
      return std::max(v + sign * e, std::min(lowest, v));
    });
    ends = plus(ends, map(OCTET_TRY(s.run({moved})).at(0), out.value,
                          [](double y, double centre) { return std::fabs(y - centre); }));
  }
  out.error = plus(ends, times(magnitude(out.value), 16 * kRounding));
  return std::vector<Bounded>{std::move(out)};
}

} // namespace

Rule* find_elementwise_rule(std::string_view op) {
  if (kFunctions.contains(op)) return function;
  if (op == "Gelu") return gelu;
  if (op == "LeakyRelu") return leaky_relu;
  if (op == "PRelu") return prelu;
  if (op == "Add" || op == "Sub") return sum_or_difference;
  if (op == "Mul") return multiplication;
  if (op == "Div") return division;
  if (op == "Max" || op == "Min") return selection;
  if (op == "Sqrt" || op == "Exp" || op == "Log") return growing;
  return nullptr;
}

} // namespace octet::differential

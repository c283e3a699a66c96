// SPDX-License-Identifier: Apache-2.0
// Products and sums of windows. A float sum of K terms t is off by the rounding of its partial
// sums: a random walk of K steps, each of about the root of the sum of t^2. The constants leave
// eight standard deviations. Where terms of one sign add up, partial sums grow to the sum itself,
// and those of equal terms may all be rounded in one direction.
#include <algorithm>
#include <map>

#include "ops/shared/einsum.h"
#include "runner/arrays.h"
#include "runner/rules.h"

namespace octet::differential {
namespace {

/// Of an Einsum: elements of the axes that the output lacks.
double summed(const Step& s) {
  const int64_t ranks[] = {s.in[0].value.rank(), s.in[1].value.rank()};
  const auto equation = parse_einsum(s.node.attr_string("equation", ""), ranks);
  std::map<int, int64_t> sizes;
  for (size_t i = 0; equation.ok() && i < 2; ++i)
    for (size_t k = 0; k < equation->inputs[i].size(); ++k)
      sizes[equation->inputs[i][k]] = s.in[i].value.dim(static_cast<int64_t>(k));
  double out = 1;
  for (const auto& [label, size] : sizes)
    if (std::find(equation->output.begin(), equation->output.end(), label) ==
        equation->output.end())
      out *= static_cast<double>(size);
  return out;
}

/// Number of terms behind one element of the product.
double terms(const Step& s) {
  const Tensor& x = s.in[0].value;
  const Tensor& w = s.in[1].value;
  const auto share = [](const Tensor& t, int64_t dim) {
    return static_cast<double>(t.count()) / static_cast<double>(std::max<int64_t>(dim, 1));
  };
  if (s.node.is("Conv")) return share(w, w.dim(0));
  if (s.node.is("ConvTranspose")) return share(w, w.dim(1));
  if (s.node.is("Einsum")) return summed(s);
  if (s.node.is("Gemm"))
    return static_cast<double>(x.dim(s.node.attr_int("transA", 0) != 0 ? 0 : 1));
  return static_cast<double>(x.dim(x.rank() - 1));
}

Node with_factors(const Node& node, double (*change)(double)) {
  Node out = node;
  if (!node.is("Gemm")) return out;
  for (const char* name : {"alpha", "beta"})
    out.set(name, static_cast<float>(change(static_cast<double>(node.attr_float(name, 1)))));
  return out;
}
double square_of(double x) {
  return x * x;
}
double magnitude_of(double x) {
  return std::fabs(x);
}

/// Gemm once had to have a third operand.
std::vector<Tensor> without_bias(const Step& s, const Tensor& x, const Tensor& w) {
  if (s.node.is("Gemm")) return {x, w, Tensor::scalar(0.0)};
  return {x, w};
}

Result<Tensor> passed_on(const Step& s) {
  const Node node = with_factors(s.node, magnitude_of);
  const Bounded& x = s.in[0];
  const Bounded& w = s.in[1];
  std::vector<Tensor> operands = {or_zeros(x.error, x.value), magnitude(w.value)};
  if (s.has(2))
    operands.push_back(or_zeros(s.in[2].error, s.in[2].value));
  else
    operands = without_bias(s, operands[0], operands[1]);
  const Tensor by_x = OCTET_TRY(s.run(node, operands)).at(0);
  if (w.error.empty()) return by_x;
  operands = without_bias(s, plus(magnitude(x.value), x.error), w.error);
  return plus(by_x, OCTET_TRY(s.run(node, operands)).at(0));
}

Result<std::vector<Bounded>> product(const Step& s) {
  Bounded out;
  out.value = OCTET_TRY(s.run(s.values())).at(0);
  out.error = OCTET_TRY(passed_on(s));
  const Tensor& x = s.in[0].value;
  const Tensor& w = s.in[1].value;
  const Tensor squares =
      OCTET_TRY(s.run(with_factors(s.node, square_of), without_bias(s, square(x), square(w))))
          .at(0);
  const Tensor sum = s.has(2) ? OCTET_TRY(s.run(without_bias(s, x, w))).at(0) : out.value;
  const double walk = 4 * std::sqrt(terms(s));
  const Tensor rounding =
      map(squares, [walk](double v) { return kRounding * walk * std::sqrt(v); });
  const double growth = 8 + std::max(walk, terms(s) / 3);
  const Tensor ends = map(sum, out.value, [growth](double acc, double y) {
    return kRounding * (growth * std::fabs(acc) + 8 * std::fabs(y - acc));
  });
  out.error = plus(plus(out.error, rounding), ends);
  if (s.rounding == Rounding::kCodes && s.has(2)) {
    const auto alpha = static_cast<double>(std::fabs(s.node.attr_float("alpha", 1)));
    const double half_step = 0.5 * alpha * s.in[0].scale * s.in[1].scale;
    out.error = map(out.error, [half_step](double e) { return e + half_step; });
  }
  return std::vector<Bounded>{std::move(out)};
}

} // namespace

Rule* find_product_rule(std::string_view op) {
  for (const std::string_view known : {"Conv", "ConvTranspose", "Einsum", "Gemm", "MatMul"})
    if (op == known) return product;
  return nullptr;
}

} // namespace octet::differential

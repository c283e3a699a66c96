// SPDX-License-Identifier: Apache-2.0
// The argument of Erf or Tanh is read as a polynomial of x, so that every order of its factors and
// every way to write a cube is one form.
#include "passes/match_gelu.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "passes/match.h"

namespace octet {
namespace {

constexpr int kMaxFactorDepth = 8;

/// Coefficients of 1, x, x^2, x^3.
using Polynomial = std::array<double, 4>;

std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b) {
  Polynomial out = {};
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t k = 0; k < b.size(); ++k) {
      if (a[i] * b[k] == 0) continue;
      if (i + k >= out.size()) return std::nullopt;
      out[i + k] += a[i] * b[k];
    }
  return out;
}

std::optional<Polynomial> power(const Polynomial& base, double exponent) {
  Polynomial out = {1};
  for (int i = 0; i < 3 && i < exponent; ++i) {
    const auto next = product(out, base);
    if (!next) return std::nullopt;
    out = *next;
  }
  return exponent == 2 || exponent == 3 ? std::optional(out) : std::nullopt;
}

std::optional<Polynomial> polynomial(const Graph& g, ValueId id, ValueId x, int depth = 0) {
  if (id == x) return Polynomial{0, 1};
  if (const auto n = number(g, id)) return Polynomial{*n};
  const Node* node = g.producer(id);
  if (node == nullptr || !node->domain.empty() || node->inputs.size() != 2 ||
      depth > kMaxFactorDepth)
    return std::nullopt;
  const auto a = polynomial(g, node->inputs[0], x, depth + 1);
  if (!a) return std::nullopt;
  const auto exponent = number(g, node->inputs[1]);
  if (node->is("Pow")) return exponent ? power(*a, *exponent) : std::nullopt;
  const auto b = polynomial(g, node->inputs[1], x, depth + 1);
  if (!b) return std::nullopt;
  if (node->is("Mul")) return product(*a, *b);
  if (node->is("Div") && exponent && *exponent != 0) return product(*a, {1 / *exponent});
  if (!node->is("Add")) return std::nullopt;
  Polynomial sum = *a;
  for (size_t i = 0; i < sum.size(); ++i)
    sum[i] += (*b)[i];
  return sum;
}

/// Values that the argument may be a polynomial of, the nearest first.
std::vector<ValueId> bases(const Graph& g, ValueId argument) {
  std::vector<ValueId> out = {argument};
  for (size_t at = 0; at < out.size() && out.size() < 16; ++at) {
    const Node* node = g.producer(out[at]);
    if (node == nullptr ||
        !(node->is("Add") || node->is("Mul") || node->is("Div") || node->is("Pow")))
      continue;
    for (const ValueId in : node->inputs)
      if (!number(g, in) && std::find(out.begin(), out.end(), in) == out.end()) out.push_back(in);
  }
  out.erase(out.begin());
  return out;
}

bool is_argument(const Graph& g, ValueId argument, ValueId x, bool tanh) {
  const auto have = polynomial(g, argument, x);
  if (!have) return false;
  const double slope = tanh ? std::sqrt(2 / M_PI) : std::sqrt(0.5);
  const Polynomial want = {0, slope, 0, tanh ? slope * 0.044715 : 0};
  const bool half = g.value(x).type.type != DType::kFloat32;
  for (size_t i = 0; i < want.size(); ++i)
    if (std::abs((*have)[i] - want[i]) > (half ? 2e-3 : 1e-5) * want[1]) return false;
  return true;
}

/// The end of the chain: a product of x, `sum` and 0.5 in some order.
ValueId half_product(const RuleContext& c, ValueId x, ValueId sum) {
  const Graph& g = c.graph;
  const Node* first = only_consumer(c, sum, "Mul");
  if (first == nullptr) return {};
  const ValueId other = other_than(*first, sum);
  const Node* maker = made_by(g, other, "Mul");
  if (maker != nullptr && beside_number(g, *maker, 0.5) == x) return first->outputs[0];
  const Node* second = only_consumer(c, first->outputs[0], "Mul");
  if (second == nullptr) return {};
  const bool by_x = other == x && beside_number(g, *second, 0.5) == first->outputs[0];
  const bool by_half = is_number(g, other, 0.5) && other_than(*second, first->outputs[0]) == x;
  return by_x || by_half ? second->outputs[0] : ValueId{};
}

} // namespace

std::optional<GeluChain> match_gelu(const RuleContext& c, const Node& node) {
  const Graph& g = c.graph;
  const bool tanh = node.is("Tanh");
  if ((!tanh && !node.is("Erf")) || !is_float(g.value(node.input(0)).type.type))
    return std::nullopt;
  const Node* add = only_consumer(c, node.outputs[0], "Add");
  if (add == nullptr || beside_number(g, *add, 1.0) != node.outputs[0]) return std::nullopt;
  for (const ValueId x : bases(g, node.input(0))) {
    if (!is_argument(g, node.input(0), x, tanh)) continue;
    const ValueId y = half_product(c, x, add->outputs[0]);
    if (y.valid()) return GeluChain{x, y, tanh};
  }
  return std::nullopt;
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "passes/pack/score_bound.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "graph/domains.h"
#include "ops/native/attention.h"
#include "ops/native/coded_gemm.h"
#include "passes/lower/programs.h"
#include "passes/reshape_target.h"

namespace octet::packing {
namespace {

using numerics::MapInstruction;
using numerics::MapOp;
using numerics::MapOperand;

/// Room for what the product's own rounding adds.
constexpr double kRounding = 1.001;

double largest_code(DType type, int64_t zero_point) {
  const bool is_signed = type == DType::kInt8;
  const double lo = is_signed ? -128 : 0, hi = is_signed ? 127 : 255;
  const auto zero = static_cast<double>(zero_point);
  return std::max(std::abs(lo - zero), std::abs(hi - zero));
}

std::vector<double> doubles(const Graph& graph, ValueId id) {
  const Tensor* constant = graph.constant(id);
  if (constant == nullptr) return {};
  auto values = constant->to_doubles();
  return values.ok() ? std::move(*values) : std::vector<double>();
}

double norm(std::span<const double> x) {
  double sum = 0;
  for (const double v : x)
    sum += v * v;
  return std::sqrt(sum);
}

/// factor * x + shift; a shift of one number is that for all x.
struct Line {
  double factor = 0;
  std::vector<double> shift = {0};
};

std::optional<Line> sum(const Line& a, const Line& b, double sign) {
  const Line& wide = a.shift.size() > 1 ? a : b;
  if (a.shift.size() != b.shift.size() && a.shift.size() != 1 && b.shift.size() != 1)
    return std::nullopt;
  Line out{a.factor + sign * b.factor, std::vector<double>(wide.shift.size())};
  const auto at = [](const Line& x, size_t i) { return x.shift[x.shift.size() == 1 ? 0 : i]; };
  for (size_t i = 0; i < out.shift.size(); ++i)
    out.shift[i] = at(a, i) + sign * at(b, i);
  return out;
}

std::optional<Line> times(const Line& a, double number) {
  Line out = a;
  out.factor *= number;
  for (double& each : out.shift)
    each *= number;
  return out;
}

/// Where it is one number whatever x is.
std::optional<double> number_of(const Line& a) {
  return a.factor == 0 && a.shift.size() == 1 ? std::optional(a.shift[0]) : std::nullopt;
}

std::optional<Line> line_of(MapOp op, const Line& a, const Line& b) {
  if (op == MapOp::kAdd) return sum(a, b, 1);
  if (op == MapOp::kSub) return sum(a, b, -1);
  const auto left = number_of(a), right = number_of(b);
  if (op == MapOp::kMul && right) return times(a, *right);
  if (op == MapOp::kMul && left) return times(b, *left);
  if (op == MapOp::kDiv && right && *right != 0) return times(a, 1 / *right);
  return std::nullopt;
}

/// What an elementwise node makes of one value, where that is a line; the value is `from`.
std::optional<Line> line_of(const Graph& graph, const Node& node, ValueId& from) {
  const auto mapped = lowering::mapped(graph, node, lowering::Bits::kSame);
  if (!mapped) return std::nullopt;
  std::vector<Line> inputs, results;
  ValueId varying;
  for (const auto& input : mapped->inputs) {
    const std::vector<double> known = input.made ? std::vector<double>() : doubles(graph, input.id);
    if (!known.empty()) {
      inputs.push_back({0, known});
      continue;
    }
    if (varying.valid() || input.made) return std::nullopt;
    varying = input.id;
    inputs.push_back({1, {0}});
  }
  for (const MapInstruction& each : mapped->program.code) {
    const auto operand = [&](size_t k) -> Line {
      const MapOperand& x = each.operands[k];
      if (x.kind == MapOperand::Kind::kInput) return inputs[x.index];
      if (x.kind == MapOperand::Kind::kResult) return results[x.index];
      return {0, {static_cast<double>(mapped->program.constants[x.index])}};
    };
    const auto made =
        each.used().size() == 2 ? line_of(each.op, operand(0), operand(1)) : std::nullopt;
    if (!made) return std::nullopt;
    results.push_back(*made);
  }
  if (results.empty() || !varying.valid()) return std::nullopt;
  from = varying;
  return results.back();
}

/// Rows A z + shift of a product, of which nothing is known of z but its Euclidean norm.
struct Affine {
  int64_t width = 0;         ///< of z
  std::vector<double> a;     ///< [rows, width]
  std::vector<double> shift; ///< [rows]
  double radius = 0;         ///< |z| at most
};

/// gain * x + offset of what is normalized, |x| at most sqrt(width).
struct Normalized {
  std::vector<double> gain, offset;
};

std::optional<Normalized> normalized(const Graph& graph, ValueId value) {
  const Node* node = graph.producer(value);
  if (node == nullptr || !node->is("LayerNormalization", kNative) || node->output(0) != value ||
      node->attr_int("floats", 1) == 0)
    return std::nullopt;
  Normalized out{doubles(graph, node->input(1)), doubles(graph, node->input(2))};
  if (!node->input(2).valid()) out.offset.assign(out.gain.size(), 0);
  return out.gain.empty() || out.offset.size() != out.gain.size() ? std::nullopt
                                                                  : std::optional(std::move(out));
}

/// What rounding each row to 127 codes on either side of 0 adds to its norm at most.
double dynamic_rounding(int64_t width) {
  return 1 + std::sqrt(static_cast<double>(width)) / 254;
}

/// Of Gemm and QDynamicGemm as they are, of CodedGemm what they mean.
std::vector<double> weights_of(const Graph& graph, const Node& node) {
  if (!node.is("CodedGemm", kNative)) return doubles(graph, node.input(1));
  const Tensor *codes = graph.constant(node.input(1)), *scales = graph.constant(node.input(2)),
               *zeros = graph.constant(node.input(3));
  if (codes == nullptr || scales == nullptr || (zeros == nullptr && node.input(3).valid()))
    return {};
  const auto numbers = native::decoded_weights(
      *codes, *scales, zeros == nullptr ? Tensor() : *zeros, native::block_of(node, codes->dim(1)));
  return numbers.ok() ? std::vector<double>(numbers->begin(), numbers->end())
                      : std::vector<double>();
}

/// A product of what is normalized: Gemm, CodedGemm, or QDynamicGemm, which rounds its rows before.
std::optional<Affine> product_of_normalized(const Graph& graph, const Node& node) {
  const bool dynamic = node.is("QDynamicGemm", kNative);
  const bool coded = node.is("CodedGemm", kNative);
  if ((!dynamic && !coded && !node.is("Gemm", kNative)) || node.has_attr("min") ||
      node.has_attr("max"))
    return std::nullopt;
  const auto x = normalized(graph, node.input(0));
  const Tensor* weights = graph.constant(node.input(1));
  if (!x || weights == nullptr || weights->rank() != 2) return std::nullopt;
  const ValueId bias = node.input(coded ? 4 : dynamic ? 3 : 2);
  Affine out{weights->dim(1), weights_of(graph, node), doubles(graph, bias), 0};
  const auto rows = static_cast<size_t>(weights->dim(0)), width = x->gain.size();
  if (!bias.valid()) out.shift.assign(rows, 0);
  std::vector<double> scales = dynamic ? doubles(graph, node.input(2)) : std::vector<double>{1};
  if (scales.size() == 1) scales.assign(rows, scales[0]);
  if (static_cast<size_t>(out.width) != width || out.a.size() != rows * width ||
      out.shift.size() != rows || scales.size() != rows)
    return std::nullopt;
  const double root = std::sqrt(static_cast<double>(width));
  double largest = 0;
  for (const double gain : x->gain)
    largest = std::max(largest, std::abs(gain));
  out.radius = dynamic ? (largest * root + norm(x->offset)) * dynamic_rounding(out.width) : root;
  for (size_t r = 0; r < rows; ++r)
    for (size_t k = 0; k < width; ++k) {
      double& w = out.a[r * width + k];
      w *= scales[r];
      if (dynamic) continue;
      out.shift[r] += w * x->offset[k];
      w *= x->gain[k];
    }
  return out;
}

/// The same behind Reshapes, and additions and factors that are constant.
std::optional<Affine> affine_of(const Graph& graph, ValueId id) {
  std::vector<Line> lines;
  const Node* node = graph.producer(id);
  for (; node != nullptr; node = graph.producer(id)) {
    if (only_reshapes(*node)) {
      id = node->input(0);
      continue;
    }
    auto line = line_of(graph, *node, id);
    if (!line) break;
    lines.push_back(std::move(*line));
  }
  if (node == nullptr) return std::nullopt;
  auto out = product_of_normalized(graph, *node);
  if (!out) return std::nullopt;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (line->shift.size() != 1 && line->shift.size() != out->shift.size()) return std::nullopt;
    for (double& w : out->a)
      w *= line->factor;
    for (size_t r = 0; r < out->shift.size(); ++r)
      out->shift[r] = out->shift[r] * line->factor + line->shift[line->shift.size() == 1 ? 0 : r];
  }
  return out;
}

/// Rows of one head.
struct Head {
  std::span<const double> a, shift;
  size_t width;
  double radius;

  /// |A z + shift| at most, by the norm of all elements of A.
  double longest() const { return norm(a) * radius + norm(shift); }
  /// A A^T: [depth, depth].
  std::vector<double> gram() const {
    const size_t depth = shift.size();
    std::vector<double> out(depth * depth, 0.0), column(depth);
    for (size_t k = 0; k < width; ++k) {
      for (size_t r = 0; r < depth; ++r)
        column[r] = a[r * width + k];
      for (size_t r = 0; r < depth; ++r)
        for (size_t c = 0; c < depth; ++c)
          out[r * depth + c] += column[r] * column[c];
    }
    return out;
  }
};

Head head_of(const Affine& x, size_t depth, size_t head) {
  const auto width = static_cast<size_t>(x.width);
  return {std::span(x.a).subspan(head * depth * width, depth * width),
          std::span(x.shift).subspan(head * depth, depth), width, x.radius};
}

/// |A^T s|, by A A^T.
double turned_norm(std::span<const double> gram, std::span<const double> s) {
  double sum = 0;
  for (size_t r = 0; r < s.size(); ++r)
    for (size_t c = 0; c < s.size(); ++c)
      sum += s[r] * gram[r * s.size() + c] * s[c];
  return std::sqrt(std::max(sum, 0.0));
}

/// Of |(Q x + s) . (K y + t)|, by the norm of all elements of Q^T K, which is the root of
/// <Q Q^T, K K^T>.
double bilinear_bound(const Head& q, const Head& k) {
  const std::vector<double> queries = q.gram(), keys = k.gram();
  double both = 0, shifts = 0;
  for (size_t i = 0; i < keys.size(); ++i)
    both += queries[i] * keys[i];
  for (size_t i = 0; i < q.shift.size(); ++i)
    shifts += q.shift[i] * k.shift[i];
  return q.radius * k.radius * std::sqrt(std::max(both, 0.0)) +
         q.radius * turned_norm(queries, k.shift) + k.radius * turned_norm(keys, q.shift) +
         std::abs(shifts);
}

} // namespace

std::optional<double> score_bound(const Graph& graph, const Node& node, Effort effort) {
  const TypeInfo& q = graph.value(node.input(0)).type;
  const TypeInfo& k = graph.value(node.input(1)).type;
  if (!q.has_rank() || q.rank() == 0) return std::nullopt;
  const auto perm = native::attention_perm(node, 0, q.rank());
  if (!perm.ok()) return std::nullopt;
  const auto depth = (*q.shape)[static_cast<size_t>(perm->back())].maybe_value();
  if (!depth) return std::nullopt;
  if (q.type != DType::kFloat32)
    return kRounding * static_cast<double>(*depth) *
           largest_code(q.type, node.attr_int("q_zero_point", 0)) *
           largest_code(k.type, node.attr_int("k_zero_point", 0)) *
           std::abs(static_cast<double>(node.attr_float("scores_multiplier", 1)));
  if (perm->back() != q.rank() - 1) return std::nullopt;
  const auto queries = affine_of(graph, node.input(0)), keys = affine_of(graph, node.input(1));
  const auto each = static_cast<size_t>(*depth);
  if (!queries || !keys || each == 0 || queries->shift.size() != keys->shift.size() ||
      keys->shift.size() % each != 0)
    return std::nullopt;
  double out = 0;
  for (size_t head = 0; head < keys->shift.size() / each; ++head) {
    const Head q_rows = head_of(*queries, each, head), k_rows = head_of(*keys, each, head);
    out = std::max(out, effort == Effort::kQuick ? q_rows.longest() * k_rows.longest()
                                                 : bilinear_bound(q_rows, k_rows));
  }
  return kRounding * out;
}

} // namespace octet::packing

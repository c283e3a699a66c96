// SPDX-License-Identifier: Apache-2.0
#include "passes/pack/mask_proof.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "graph/domains.h"
#include "ops/native/attention.h"
#include "passes/reshape_target.h"

namespace octet::packing {
namespace {

using numerics::MapInstruction;
using numerics::MapOp;
using numerics::MapOperand;

using Operands = std::array<Interval, 3>;

bool is_point(const Interval& x) {
  return x.lo == x.hi;
}

/// Functions that rise or fall in each operand while the others stay: their extremes are at corners.
/// A correctly rounded function keeps that.
bool has_extremes_at_corners(MapOp op, const Operands& x) {
  switch (op) {
  case MapOp::kNeg:
  case MapOp::kRelu:
  case MapOp::kAdd:
  case MapOp::kSub:
  case MapOp::kMul:
  case MapOp::kMin:
  case MapOp::kMax:
  case MapOp::kFma:
  case MapOp::kClamp:
  case MapOp::kRoundF16:
  case MapOp::kRoundBf16:
    return true;
  case MapOp::kDiv:
    return x[1].lo > 0 || x[1].hi < 0;
  default:
    return false;
  }
}

std::optional<Interval> corners(MapOp op, const Operands& x) {
  Interval out{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (unsigned corner = 0; corner < 8; ++corner) {
    const auto side = [&](size_t k) {
      return static_cast<float>((corner >> k & 1U) != 0 ? x[k].hi : x[k].lo);
    };
    const auto y = static_cast<double>(numerics::apply(op, side(0), side(1), side(2)));
    if (std::isnan(y)) return std::nullopt;
    out = {std::min(out.lo, y), std::max(out.hi, y)};
  }
  return out;
}

std::optional<Interval> instruction_bounds(MapOp op, const Operands& x) {
  if (op == MapOp::kSelect && is_point(x[0])) return x[0].lo != 0 ? x[1] : x[2];
  return has_extremes_at_corners(op, x) ? corners(op, x) : std::nullopt;
}

/// Room for what the product's own rounding adds.
constexpr double kRounding = 1.001;

double largest_code(DType type, int64_t zero_point) {
  const bool is_signed = type == DType::kInt8;
  const double lo = is_signed ? -128 : 0, hi = is_signed ? 127 : 255;
  const auto zero = static_cast<double>(zero_point);
  return std::max(std::abs(lo - zero), std::abs(hi - zero));
}

std::vector<float> numbers(const Graph& graph, ValueId id) {
  const Tensor* constant = graph.constant(id);
  if (constant == nullptr) return {};
  auto values = constant->to_floats();
  return values.ok() ? std::move(*values) : std::vector<float>();
}

/// The one number that the node multiplies its other operand by; the operand is `from`.
std::optional<double> factor_of(const Graph& graph, const Node& node, ValueId& from) {
  if (!node.is("Mul")) return std::nullopt;
  for (const size_t k : {size_t{0}, size_t{1}}) {
    const std::vector<float> factor = numbers(graph, node.input(k));
    if (factor.size() != 1) continue;
    from = node.input(1 - k);
    return std::abs(static_cast<double>(factor[0]));
  }
  return std::nullopt;
}

/// Of rows gain * x + bias with |x|_2 at most sqrt(width), a row of w, and its bias: the square of
/// what it multiplies x by, and what it adds.
struct Projected {
  double square = 0;
  double shift = 0;
};

Projected projected(std::span<const float> w,
                    float bias,
                    std::span<const float> gain,
                    std::span<const float> offset) {
  Projected out{0, static_cast<double>(bias)};
  for (size_t k = 0; k < w.size(); ++k) {
    const auto weight = static_cast<double>(w[k]);
    const double scaled = weight * static_cast<double>(gain[k]);
    out.square += scaled * scaled;
    if (!offset.empty()) out.shift += weight * static_cast<double>(offset[k]);
  }
  return out;
}

/// The Euclidean norm that no row of `depth` elements exceeds, for each head, where the value is a
/// product with a normalization, times a number perhaps. Empty: nothing is known.
std::vector<double> row_norms(const Graph& graph, ValueId id, int64_t depth) {
  double factor = 1;
  const Node* node = graph.producer(id);
  for (; node != nullptr; node = graph.producer(id)) {
    id = node->input(0);
    if (only_reshapes(*node)) continue;
    const auto times = factor_of(graph, *node, id);
    if (!times) break;
    factor *= *times;
  }
  if (node == nullptr || !node->is("Gemm", kNative) || node->has_attr("min") ||
      node->has_attr("max"))
    return {};
  const Node* norm = graph.producer(node->input(0));
  const Tensor* weights = graph.constant(node->input(1));
  if (norm == nullptr || !norm->is("LayerNormalization", kNative) ||
      norm->output(0) != node->input(0) || norm->attr_int("floats", 1) == 0 || weights == nullptr ||
      weights->rank() != 2)
    return {};
  const std::vector<float> w = numbers(graph, node->input(1)), b = numbers(graph, node->input(2)),
                           gain = numbers(graph, norm->input(1)),
                           offset = numbers(graph, norm->input(2));
  const auto rows = static_cast<size_t>(weights->dim(0)),
             width = static_cast<size_t>(weights->dim(1)), each = static_cast<size_t>(depth);
  const auto missing = [](ValueId v, const std::vector<float>& found, size_t size) {
    return v.valid() && found.size() != size;
  };
  if (depth <= 0 || rows % each != 0 || gain.size() != width || w.size() != rows * width ||
      missing(node->input(2), b, rows) || missing(norm->input(2), offset, width))
    return {};
  std::vector<double> out(rows / each);
  for (size_t head = 0; head < out.size(); ++head) {
    double squares = 0, shifts = 0;
    for (size_t r = head * each; r < (head + 1) * each; ++r) {
      const Projected row =
          projected(std::span(w).subspan(r * width, width), b.empty() ? 0 : b[r], gain, offset);
      squares += row.square;
      shifts += row.shift * row.shift;
    }
    out[head] = factor * (std::sqrt(squares * static_cast<double>(width)) + std::sqrt(shifts));
  }
  return out;
}

} // namespace

std::optional<Interval> program_bounds(const numerics::Program& program,
                                       std::span<const Interval> operands) {
  std::vector<Interval> results;
  results.reserve(program.code.size());
  for (const MapInstruction& each : program.code) {
    Operands x{};
    for (size_t k = 0; k < each.used().size(); ++k) {
      const MapOperand& operand = each.operands[k];
      if (operand.kind == MapOperand::Kind::kInput)
        x[k] = operands[operand.index];
      else if (operand.kind == MapOperand::Kind::kResult)
        x[k] = results[operand.index];
      else
        x[k].lo = x[k].hi = static_cast<double>(program.constants[operand.index]);
    }
    const auto y = instruction_bounds(each.op, x);
    if (!y) return std::nullopt;
    results.push_back(*y);
  }
  return results.empty() ? operands[0] : results.back();
}

std::optional<double> score_bound(const Graph& graph, const Node& node) {
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
  const std::vector<double> queries = row_norms(graph, node.input(0), *depth),
                            keys = row_norms(graph, node.input(1), *depth);
  if (queries.empty() || queries.size() != keys.size()) return std::nullopt;
  double out = 0;
  for (size_t head = 0; head < keys.size(); ++head)
    out = std::max(out, queries[head] * keys[head]);
  return kRounding * out;
}

} // namespace octet::packing

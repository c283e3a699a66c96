// SPDX-License-Identifier: Apache-2.0
#include "passes/pack/mask_proof.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

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

} // namespace octet::packing

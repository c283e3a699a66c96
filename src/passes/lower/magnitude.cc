// SPDX-License-Identifier: Apache-2.0
// Codes are finite numbers, and functions of elements that neither divide nor overflow keep them so.
#include "passes/lower/magnitude.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/op.h"
#include "ops/qdq/site.h"
#include "passes/lower/context.h"
#include "passes/lower/programs.h"

namespace octet::lowering {
namespace {

using numerics::MapInstruction;
using numerics::MapOp;
using numerics::MapOperand;

// Far from where f32 ends.
constexpr double kMostTold = 0x1p100;
constexpr int kMostNodes = 32; // that one value is followed back through

std::optional<double> of_constant(const Tensor& t) {
  const auto numbers = t.to_floats();
  if (t.type() != DType::kFloat32 || !numbers.ok()) return std::nullopt;
  double most = 0;
  for (const float v : *numbers) {
    if (!std::isfinite(v)) return std::nullopt;
    most = std::max(most, std::fabs(double{v}));
  }
  return most;
}

std::optional<double> of_codes(const Graph& graph, const Node& dequantize) {
  const auto grid = qdq::grid_of(graph, dequantize, kForKernels);
  if (!grid) return std::nullopt;
  const double scale = double{grid->one_scale()};
  return std::isfinite(scale) ? std::optional(512 * scale) : std::nullopt;
}

/// Of the result of an instruction on operands of such sizes.
std::optional<double> applied(MapOp op, double a, double b, double c) {
  switch (op) {
  case MapOp::kNeg:
  case MapOp::kAbs:
  case MapOp::kRelu:
  case MapOp::kHardSwish:
  case MapOp::kSilu:
    return a;
  case MapOp::kSign:
  case MapOp::kSin:
  case MapOp::kCos:
  case MapOp::kErf:
  case MapOp::kTanh:
  case MapOp::kSigmoid:
    return 1;
  case MapOp::kAdd:
  case MapOp::kSub:
    return a + b;
  case MapOp::kMul:
    return a * b;
  case MapOp::kFma:
    return a * b + c;
  case MapOp::kMin:
  case MapOp::kMax:
    return std::max(a, b);
  case MapOp::kClamp:
    return std::max({a, b, c});
  case MapOp::kLeakyRelu:
    return a * std::max(1.0, b);
  default:
    return std::nullopt;
  }
}

class Follower {
 public:
  explicit Follower(const Graph& graph) : graph_(graph) {}

  std::optional<double> of(ValueId value) {
    if (const Tensor* constant = graph_.constant(value)) return of_constant(*constant);
    const Node* node = graph_.producer(value);
    if (node == nullptr || ++nodes_ > kMostNodes) return std::nullopt;
    if (is_dequantize(*node)) return of_codes(graph_, *node);
    const Motion::Kind kind = motion_of(*node).kind;
    if (moves_values(*node) && (kind == Motion::Kind::kView || kind == Motion::Kind::kPermute))
      return of(node->input(0));
    if (node->is("Concat")) {
      double most = 0;
      for (const ValueId in : node->inputs) {
        const auto size = of(in);
        if (!size) return std::nullopt;
        most = std::max(most, *size);
      }
      return most;
    }
    const auto program = mapped(graph_, *node, Bits::kAny);
    return program ? of_program(*program) : std::nullopt;
  }

 private:
  std::optional<double> of_program(const Mapped& made) {
    std::vector<double> inputs, results;
    for (const Mapped::Input& input : made.inputs) {
      const auto size = input.id.valid() ? of(input.id) : of_constant(*input.made);
      if (!size) return std::nullopt;
      inputs.push_back(*size);
    }
    for (const MapInstruction& each : made.program.code) {
      std::array<double, 3> sizes{};
      for (size_t i = 0; i < each.used().size(); ++i) {
        const MapOperand& operand = each.operands[i];
        if (operand.kind == MapOperand::Kind::kInput)
          sizes[i] = inputs[operand.index];
        else if (operand.kind == MapOperand::Kind::kConstant)
          sizes[i] = std::fabs(double{made.program.constants[operand.index]});
        else
          sizes[i] = results[operand.index];
      }
      const auto size = applied(each.op, sizes[0], sizes[1], sizes[2]);
      if (!size || !(*size < kMostTold)) return std::nullopt;
      results.push_back(*size);
    }
    return results.back();
  }

  const Graph& graph_;
  int nodes_ = 0;
};

} // namespace

std::optional<double> magnitude_of(const Graph& graph, ValueId value) {
  return Follower(graph).of(value);
}

} // namespace octet::lowering

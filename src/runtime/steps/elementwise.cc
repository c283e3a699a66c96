// SPDX-License-Identifier: Apache-2.0
// Float functions of one tensor, and arithmetic of two whose second repeats along the first.
#include "core/format.h"
#include "core/threads.h"
#include "runtime/kernels/unary.h"
#include "runtime/steps/call.h"
#include "runtime/steps/steps.h"

namespace octet::runtime {
namespace {

std::optional<kernels::Unary> unary_of(const Node& node) {
  if (node.op_type == "Exp") return kernels::Unary::kExp;
  if (node.op_type == "Erf") return kernels::Unary::kErf;
  if (node.op_type == "Tanh") return kernels::Unary::kTanh;
  if (node.op_type == "Sigmoid") return kernels::Unary::kSigmoid;
  if (node.op_type == "Relu") return kernels::Unary::kRelu;
  if (node.op_type == "Gelu")
    return node.attr_string("approximate", "none") == "tanh" ? kernels::Unary::kGeluTanh
                                                             : kernels::Unary::kGelu;
  return std::nullopt;
}

std::optional<kernels::Binary> binary_of(const Node& node) {
  if (node.op_type == "Add") return kernels::Binary::kAdd;
  if (node.op_type == "Sub") return kernels::Binary::kSub;
  if (node.op_type == "Mul") return kernels::Binary::kMul;
  if (node.op_type == "Div") return kernels::Binary::kDiv;
  return std::nullopt;
}

/// Whether b's dimensions, without leading ones, are a's last ones.
bool repeats(const TypeInfo& a, const TypeInfo& b) {
  if (!a.shape || !b.shape || a.rank() < b.rank()) return false;
  const auto& long_dims = *a.shape;
  const auto& short_dims = *b.shape;
  bool leading = true;
  for (size_t i = 0; i < short_dims.size(); ++i) {
    if (leading && short_dims[i] == Dim(1)) continue;
    leading = false;
    if (!(short_dims[i] == long_dims[long_dims.size() - short_dims.size() + i])) return false;
  }
  return true;
}

} // namespace

Choice prepare_unary(const PrepareContext& c) {
  const auto f = unary_of(c.node);
  if (!f || c.type(0).type != DType::kFloat32) return Choice::refuse("unary: not of type f32");
  auto bind = [f = *f, isa = c.isa](std::span<const Operand> in, std::span<const Operand> out) {
    return call_step([f, isa, x = in[0].id, y = out[0].id,
                      count = in[0].count()](Slots slots, ParallelFor& parallel) {
      kernels::unary(f, at<const float>(slots, x), count, at<float>(slots, y), isa, parallel);
    });
  };
  return {bind_with(std::move(bind)), fmt::format("unary {}", isa_name(c.isa)), {}};
}

Choice prepare_binary(const PrepareContext& c) {
  const auto op = binary_of(c.node);
  if (!op || c.type(0).type != DType::kFloat32) return Choice::refuse("binary: not of type f32");
  if (!repeats(c.type(0), c.type(1)))
    return Choice::refuse("binary: the second operand does not repeat along the first");
  auto bind = [op = *op, isa = c.isa](std::span<const Operand> in, std::span<const Operand> out) {
    return call_step([op, isa, a = in[0].id, b = in[1].id, y = out[0].id, count = in[0].count(),
                      period = in[1].count()](Slots slots, ParallelFor& parallel) {
      if (count > 0)
        kernels::binary(op, at<const float>(slots, a), at<const float>(slots, b), count, period,
                        at<float>(slots, y), isa, parallel);
    });
  };
  return {bind_with(std::move(bind)), fmt::format("binary {}", isa_name(c.isa)), {}};
}

} // namespace octet::runtime

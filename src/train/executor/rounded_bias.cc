// SPDX-License-Identifier: Apache-2.0
#include "train/executor/rounded_bias.h"

#include <limits>

#include "ops/op.h"
#include "ops/qdq/bias.h"
#include "ops/qdq/site.h"
#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/round.h>
#include <ATen/ops/where.h>
#include <torch/csrc/autograd/custom_function.h>

namespace octet::train {
namespace {

at::Tensor
rounded(const at::Tensor& bias, const at::Tensor& x_scale, const at::Tensor& w_scale, double f) {
  constexpr double kSmallestStep = std::numeric_limits<float>::min();
  const at::Tensor steps =
      (x_scale.detach().reshape({}) * w_scale.detach().reshape({-1})).to(at::kDouble);
  const at::Tensor codes = at::round(bias.detach().to(at::kDouble) * f / steps);
  const at::Tensor usable =
      ((at::abs(steps) >= kSmallestStep) & (at::abs(steps) <= std::numeric_limits<float>::max()) &
       (at::abs(codes) <= qdq::kLargestBiasCode))
          .all();
  return at::where(usable, (codes * steps).to(at::kFloat).to(at::kDouble) / f,
                   bias.detach().to(at::kDouble))
      .to(bias.scalar_type());
}

struct Rounding : torch::autograd::Function<Rounding> {
  static at::Tensor forward(torch::autograd::AutogradContext*,
                            const at::Tensor& bias,
                            const at::Tensor& x_scale,
                            const at::Tensor& w_scale,
                            double factor) {
    return rounded(bias, x_scale, w_scale, factor);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 torch::autograd::variable_list& gradients) {
    return {std::move(gradients[0]), {}, {}, {}};
  }
};

qdq::Found<qdq::Site> read_codes(const Graph& graph, ValueId real) {
  constexpr qdq::Reading kReading{.written_zero = false, .byte_codes = true, .microsoft = false};
  const Node* node = real.valid() ? graph.producer(real) : nullptr;
  if (node == nullptr || !is_dequantize(*node)) return qdq::WhyNot::kNotQdq;
  return qdq::read(graph, *node, kReading);
}

} // namespace

std::optional<SumBias> find_sum_bias(const Graph& graph, const Node& product) {
  const OpDef* op = find_op(product.domain, product.op_type);
  const ValueId id = product.input(2);
  if (op == nullptr || !id.valid() || op->roles.fn(product, 2) != Role::kBias) return std::nullopt;
  const octet::Tensor* bias = graph.constant(id);
  if (bias == nullptr || bias->type() != DType::kFloat32 || bias->rank() != 1) return std::nullopt;
  const auto x = read_codes(graph, product.input(0)), w = read_codes(graph, product.input(1));
  if (!x || !w || !x->grid.per_tensor()) return std::nullopt;
  if (w->grid.count() != 1 && w->grid.count() != bias->count()) return std::nullopt;
  const double beta = product.attr_float("beta", 1.0F);
  if (product.attr_float("alpha", 1.0F) != 1.0F || beta == 0) return std::nullopt;
  return SumBias{id, x->real, w->real, beta};
}

at::Tensor round_to_sum(const at::Tensor& bias,
                        const at::Tensor& x_scale,
                        const at::Tensor& w_scale,
                        double factor) {
  return Rounding::apply(bias, x_scale, w_scale, factor);
}

} // namespace octet::train

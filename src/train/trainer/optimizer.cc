// SPDX-License-Identifier: Apache-2.0
// Optimizers over LibTorch's fused kernels.
#include "train/trainer/optimizer.h"

#include <cmath>
#include <optional>
#include <set>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/square.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace octet::train {

Optimizer::Optimizer(const OptimizerOptions& options,
                     std::vector<at::Tensor> leaves,
                     std::vector<double> decay)
    : options_(options), leaves_(std::move(leaves)), decay_(std::move(decay)) {
  const at::NoGradGuard no_gradient;
  for (const at::Tensor& leaf : leaves_) {
    first_.push_back(at::zeros_like(leaf));
    if (options_.kind == OptimizerKind::kSgd) continue;
    second_.push_back(at::zeros_like(leaf));
    steps_.push_back(at::zeros({}, at::TensorOptions(leaf.device()).dtype(at::kFloat)));
  }
}

std::vector<at::Tensor> Optimizer::gradients() const {
  std::vector<at::Tensor> out;
  for (const at::Tensor& leaf : leaves_)
    if (leaf.grad().defined()) out.push_back(leaf.grad());
  return out;
}

void Optimizer::clip() {
  const at::NoGradGuard no_gradient;
  std::vector<at::Tensor> all = gradients(), norms;
  for (const at::Tensor& gradient : all)
    norms.push_back(at::linalg_vector_norm(gradient, 2).to(at::kDouble));
  if (norms.empty()) return;
  if (norms[0].is_cpu()) {
    double square = 0; // added in order, whatever LibTorch's vectors are
    for (const at::Tensor& norm : norms)
      square += *norm.const_data_ptr<double>() * *norm.const_data_ptr<double>();
    const double norm = std::sqrt(square);
    if (!(norm > options_.clip_norm)) return;
    for (at::Tensor& gradient : all)
      gradient.mul_(options_.clip_norm / norm);
    return;
  }
  // On a device the gradients are multiplied by 1 rather than the norm read.
  const at::Tensor norm = at::square(at::stack(norms)).sum().sqrt();
  const at::Tensor factor =
      at::where(norm > options_.clip_norm, at::full_like(norm, options_.clip_norm) / norm, 1.0);
  for (at::Tensor& gradient : all)
    gradient.mul_(factor);
}

at::Tensor Optimizer::unscale(const at::Tensor& factor) {
  const at::NoGradGuard no_gradient;
  const std::vector<at::Tensor> all = gradients();
  at::Tensor overflowed = at::zeros({1}, factor.options());
  at::_amp_foreach_non_finite_check_and_unscale_(all, overflowed, factor.reshape({1}));
  return overflowed;
}

void Optimizer::step(const Rates& rates, const at::Tensor& overflowed) {
  const at::NoGradGuard no_gradient;
  for (const double decay : std::set<double>(decay_.begin(), decay_.end()))
    step_group(rates, decay, overflowed);
  for (at::Tensor& leaf : leaves_)
    leaf.mutable_grad().reset();
}

void Optimizer::step_group(const Rates& rates, double decay, const at::Tensor& overflowed) {
  const std::optional<at::Tensor> stops =
      overflowed.defined() ? std::optional(overflowed) : std::nullopt;
  std::vector<at::Tensor> leaves, gradients, first, second, steps;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    if (decay_[i] != decay || !leaves_[i].grad().defined()) continue;
    leaves.push_back(leaves_[i]);
    gradients.push_back(leaves_[i].grad().contiguous());
    first.push_back(first_[i]);
    if (options_.kind == OptimizerKind::kSgd) continue;
    second.push_back(second_[i]);
    steps.push_back(steps_[i]);
    steps_[i].add_(1);
    if (stops) steps_[i].sub_(stops->select(0, 0));
  }
  if (leaves.empty()) return;
  if (options_.kind == OptimizerKind::kSgd) {
    if (rates.momentum == 0) first.clear(); // the kernel wants no buffers that it does not use
    at::_fused_sgd_(leaves, gradients, first, decay, rates.momentum, rates.lr, /*dampening=*/0,
                    /*nesterov=*/false,
                    /*maximize=*/false, /*is_first_step=*/false, /*grad_scale=*/{}, stops);
  } else if (options_.kind == OptimizerKind::kAdam) {
    at::_fused_adam_(leaves, gradients, first, second, {}, steps, rates.lr, rates.momentum,
                     options_.beta2, decay, options_.epsilon, /*amsgrad=*/false,
                     /*maximize=*/false, /*grad_scale=*/{}, stops);
  } else {
    at::_fused_adamw_(leaves, gradients, first, second, {}, steps, rates.lr, rates.momentum,
                      options_.beta2, decay, options_.epsilon, /*amsgrad=*/false,
                      /*maximize=*/false, /*grad_scale=*/{}, stops);
  }
}

std::vector<std::pair<std::string, at::Tensor>> Optimizer::state() const {
  std::vector<std::pair<std::string, at::Tensor>> out;
  const auto add = [&](const char* name, const std::vector<at::Tensor>& tensors) {
    for (size_t i = 0; i < tensors.size(); ++i)
      out.emplace_back(std::string(name) + std::to_string(i), tensors[i]);
  };
  add("first.", first_);
  add("second.", second_);
  add("step.", steps_);
  return out;
}

} // namespace octet::train

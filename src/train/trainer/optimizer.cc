// SPDX-License-Identifier: Apache-2.0
// Optimizers over LibTorch's fused kernels.
#include "train/trainer/optimizer.h"

#include <cmath>
#include <set>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/linalg_vector_norm.h>
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

double Optimizer::clip() {
  const at::NoGradGuard no_gradient;
  double square = 0;
  for (const at::Tensor& leaf : leaves_) {
    if (!leaf.grad().defined()) continue;
    const double norm = at::linalg_vector_norm(leaf.grad(), 2).item().toDouble();
    square += norm * norm;
  }
  const double norm = std::sqrt(square);
  if (options_.clip_norm > 0 && norm > options_.clip_norm)
    for (const at::Tensor& leaf : leaves_)
      if (leaf.grad().defined()) leaf.grad().mul_(options_.clip_norm / norm);
  return norm;
}

bool Optimizer::unscale(double factor) {
  const at::NoGradGuard no_gradient;
  for (const at::Tensor& leaf : leaves_) {
    if (!leaf.grad().defined()) continue;
    leaf.grad().mul_(1 / factor);
    if (!at::isfinite(leaf.grad()).all().item().toBool()) return false;
  }
  return true;
}

void Optimizer::clear() {
  for (at::Tensor& leaf : leaves_)
    leaf.mutable_grad().reset();
}

void Optimizer::step(const Rates& rates) {
  const at::NoGradGuard no_gradient;
  for (const double decay : std::set<double>(decay_.begin(), decay_.end()))
    step_group(rates, decay);
  clear();
}

void Optimizer::step_group(const Rates& rates, double decay) {
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
  }
  if (leaves.empty()) return;
  if (options_.kind == OptimizerKind::kSgd) {
    if (rates.momentum == 0) first.clear(); // the kernel wants no buffers that it does not use
    at::_fused_sgd_(leaves, gradients, first, decay, rates.momentum, rates.lr, /*dampening=*/0,
                    /*nesterov=*/false,
                    /*maximize=*/false, /*is_first_step=*/false);
  } else if (options_.kind == OptimizerKind::kAdam) {
    at::_fused_adam_(leaves, gradients, first, second, {}, steps, rates.lr, rates.momentum,
                     options_.beta2, decay, options_.epsilon, /*amsgrad=*/false,
                     /*maximize=*/false);
  } else {
    at::_fused_adamw_(leaves, gradients, first, second, {}, steps, rates.lr, rates.momentum,
                      options_.beta2, decay, options_.epsilon, /*amsgrad=*/false,
                      /*maximize=*/false);
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

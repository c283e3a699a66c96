// SPDX-License-Identifier: Apache-2.0
#include "train/trainer/precision.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/full.h>

namespace octet::train {
namespace {

constexpr double kFirstFactor = 65536;
constexpr int64_t kGrowthSteps = 2000;

} // namespace

AutocastScope::AutocastScope(c10::Device device, Precision precision)
    : type_(device.type()),
      active_(precision == Precision::kBfloat16 || precision == Precision::kFloat16) {
  if (!active_) return;
  at::autocast::set_autocast_enabled(type_, true);
  at::autocast::set_autocast_dtype(type_,
                                   precision == Precision::kBfloat16 ? at::kBFloat16 : at::kHalf);
  at::autocast::set_autocast_cache_enabled(true);
  at::autocast::increment_nesting();
}

AutocastScope::~AutocastScope() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(type_, false);
}

LossScale::LossScale(Precision precision, c10::Device device)
    : active_(precision == Precision::kFloat16) {
  if (!active_) return;
  const auto f32 = at::TensorOptions(device).dtype(at::kFloat), i32 = f32.dtype(at::kInt);
  factor_ = at::full({}, kFirstFactor, f32);
  steps_ = at::full({}, 0, i32);
  skipped_ = at::full({}, 0, f32.dtype(at::kDouble));
}

void LossScale::update(const at::Tensor& overflowed) {
  const at::NoGradGuard no_gradient;
  at::_amp_update_scale_(factor_, steps_, overflowed, 2.0, 0.5, kGrowthSteps);
  factor_.clamp_min_(1);
  skipped_.add_(overflowed.select(0, 0));
}

LossScale::Reading LossScale::read() const {
  if (!active_) return {};
  return {factor_.item().toDouble(), steps_.item().toLong(),
          static_cast<int64_t>(skipped_.item().toDouble())};
}

void LossScale::set(const Reading& reading) {
  if (!active_) return;
  const at::NoGradGuard no_gradient;
  factor_.fill_(reading.factor);
  steps_.fill_(reading.steps);
  skipped_.fill_(static_cast<double>(reading.skipped));
}

} // namespace octet::train

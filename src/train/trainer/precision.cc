// SPDX-License-Identifier: Apache-2.0
#include "train/trainer/precision.h"

#include <ATen/autocast_mode.h>

namespace octet::train {

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

} // namespace octet::train

// SPDX-License-Identifier: Apache-2.0
// Schedules. One-cycle: Smith and Topin, arXiv 1708.07120, in the two-phase form with cosine
// annealing that PyTorch documents for OneCycleLR: the first phase ends at step
// warm_fraction * steps - 1, the second at steps - 1.
#include "train/trainer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace octet::train {
namespace {

/// From `a` to `b` along half a cosine, `part` running from 0 to 1.
double cosine(double a, double b, double part) {
  return b + (a - b) / 2 * (1 + std::cos(std::numbers::pi * part));
}

Rates one_cycle(const OptimizerOptions& o,
                const ScheduleOptions& s,
                double step,
                double steps,
                double momentum) {
  const double first = o.lr / s.div_factor, last = first / s.final_div_factor;
  const double top = s.warm_fraction * steps - 1, end = steps - 1;
  const bool rising = step <= top || end <= top;
  const double begin = rising ? 0 : top, span = rising ? top : end - top;
  const double part = span > 0 ? std::clamp((step - begin) / span, 0.0, 1.0) : 1.0;
  Rates r{rising ? cosine(first, o.lr, part) : cosine(o.lr, last, part), momentum};
  if (s.cycle_momentum)
    r.momentum = rising ? cosine(s.max_momentum, s.base_momentum, part)
                        : cosine(s.base_momentum, s.max_momentum, part);
  return r;
}

} // namespace

Rates rates_at(const OptimizerOptions& o, const ScheduleOptions& s, int64_t step, int64_t steps) {
  const double momentum = o.kind == OptimizerKind::kSgd ? o.momentum : o.beta1;
  if (s.kind == ScheduleKind::kOneCycle)
    return one_cycle(o, s, static_cast<double>(step), static_cast<double>(steps), momentum);
  const int64_t warmup =
      s.warmup_steps > 0
          ? s.warmup_steps
          : static_cast<int64_t>(std::ceil(s.warmup_fraction * static_cast<double>(steps)));
  if (step < warmup)
    return {o.lr * static_cast<double>(step + 1) / static_cast<double>(warmup), momentum};
  if (s.kind == ScheduleKind::kConstant) return {o.lr, momentum};
  const double span = static_cast<double>(std::max<int64_t>(1, steps - warmup));
  const double part = static_cast<double>(step - warmup) / span;
  if (s.kind == ScheduleKind::kLinear) return {o.lr + (s.final_lr - o.lr) * part, momentum};
  return {cosine(o.lr, s.final_lr, part), momentum};
}

} // namespace octet::train

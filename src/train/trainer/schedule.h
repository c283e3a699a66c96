// SPDX-License-Identifier: Apache-2.0
// Learning rate and momentum as functions of the step.
#pragma once

#include <cstdint>

#include "octet/train.h"

namespace octet::train {

struct Rates {
  double lr;
  double momentum; ///< of SGD, beta1 of Adam
};

/// The rates of step `step` of `steps`, counting from 0.
Rates rates_at(const OptimizerOptions& optimizer,
               const ScheduleOptions& schedule,
               int64_t step,
               int64_t steps);

} // namespace octet::train

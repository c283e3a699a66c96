// SPDX-License-Identifier: Apache-2.0
// Looks at the history of a run and says what is wrong with it and what usually causes that.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "octet/train.h"

namespace octet::train {

/// What the newest epoch of `history` shows. `classes`: 0 when it is not known or no classes.
std::vector<TrainFinding>
diagnose(std::span<const EpochRecord> history, int64_t classes, double max_lr);

/// The finding for a loss that is not finite.
TrainFinding not_finite(int64_t epoch, int64_t step, double loss, double lr);

} // namespace octet::train

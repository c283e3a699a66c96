// SPDX-License-Identifier: Apache-2.0
// Rounding variables of all weights of a part of a network, learned by gradient descent.
#pragma once

#include "octet/learn_rounding.h"

namespace octet::train {

/// See TrainApi::learn_rounding.
Result<LearnedRounding> learn_rounding(const RoundingRequest& request);

} // namespace octet::train

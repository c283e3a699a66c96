// SPDX-License-Identifier: Apache-2.0
// What most observers ask of a span of numbers.
#pragma once

#include <optional>
#include <span>

#include "quant/observers/loops.h"

namespace octet {

/// The smallest and the largest of finite numbers; at least one. Zeros are without a sign.
Extremes extremes_of(std::span<const float> finite);

/// The same of any numbers; nullopt where one is NaN or infinite.
std::optional<Extremes> finite_extremes(std::span<const float> values);

} // namespace octet

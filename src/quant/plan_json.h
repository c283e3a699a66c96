// SPDX-License-Identifier: Apache-2.0
// Plans as JSON, all of it or with the long vectors of steps apart (octet::save_plan).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "octet/quantize.h"

namespace octet {

/// Vectors of steps by key: "step" and three digits, "/", the member ("step007/delta").
using PlanNumbers = std::vector<std::pair<std::string, Tensor>>;

/// Up to so many elements a vector stands in the JSON also where `apart` takes the long ones.
inline constexpr int64_t kInlineNumbers = 64;

/// As QuantizationPlan::to_json. With `apart`, long vectors are appended to it, and the JSON has
/// the key, the shape and the hash of each: {"npz": "step007/delta", "shape": [384], "xxh64": ...}.
std::string plan_json(const QuantizationPlan& plan, PlanNumbers* apart);

/// Brings what stands apart; called at most once, and only by a plan that has something there.
using OpenPlanNumbers = std::function<Result<PlanNumbers>()>;

/// As QuantizationPlan::from_json. Errors also: those of `open`, a key that it does not bring,
/// another shape or hash than the JSON says.
Result<QuantizationPlan> parse_plan(std::string_view json, const OpenPlanNumbers& open);

} // namespace octet

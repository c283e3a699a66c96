// SPDX-License-Identifier: Apache-2.0
// Steps in a plan's JSON.
#pragma once

#include <span>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "octet/plan_steps.h"
#include "octet/result.h"

namespace octet {

nlohmann::ordered_json steps_json(std::span<const PlanStep> steps);
/// Errors name the step's place: another kind than there is, a member that is missing, unknown or
/// of another type, a stage that is not the kind's, what check_steps refuses.
Result<std::vector<PlanStep>> read_steps(const nlohmann::json& list);

} // namespace octet

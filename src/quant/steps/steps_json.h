// SPDX-License-Identifier: Apache-2.0
// Steps in a plan's JSON.
#pragma once

#include <span>
#include <vector>

#include "quant/plan_json.h"
#include <nlohmann/json_fwd.hpp>

#include "octet/plan_steps.h"
#include "octet/result.h"

namespace octet {

/// `apart` as plan_json takes it.
nlohmann::ordered_json steps_json(std::span<const PlanStep> steps, PlanNumbers* apart);
/// Errors name the step's place: another kind than there is, a member that is missing, unknown or
/// of another type, a stage that is not the kind's, numbers that `open` does not bring or
/// brings otherwise, what check_steps refuses.
Result<std::vector<PlanStep>> read_steps(const nlohmann::json& list, const OpenPlanNumbers& open);

} // namespace octet

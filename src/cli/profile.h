// SPDX-License-Identifier: Apache-2.0
// Where the time of a native run goes: by operator and kernel, and by node.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "octet/session.h"

namespace octet::cli {

/// What took time, the most first.
struct Profile {
  struct Part {
    std::string name; ///< an operator, or the label of a node
    std::string kernel;
    double ms = 0; ///< of one run
    int nodes = 1;
  };
  double ms = 0; ///< all steps of one run
  std::vector<Part> operators, nodes;
};

/// `ms`: as SessionContext::profile gives them for the nodes of `plan`.
Profile make_profile(const std::vector<PlannedNode>& plan, std::span<const double> ms);
/// All operators, and the nodes that take the most.
std::string text(const Profile& profile);
nlohmann::ordered_json profile_json(const Profile& profile);

} // namespace octet::cli

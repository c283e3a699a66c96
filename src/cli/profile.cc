// SPDX-License-Identifier: Apache-2.0
#include "cli/profile.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/format.h"
#include "report/table.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace octet::cli {
namespace {

void most_first(std::vector<Profile::Part>& parts) {
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.ms > b.ms; });
}

/// In percent; 0 of nothing.
double share(double ms, const Profile& profile) {
  return profile.ms > 0 ? 100 * ms / profile.ms : 0;
}

nlohmann::ordered_json parts_json(const std::vector<Profile::Part>& parts, const char* what) {
  auto out = nlohmann::ordered_json::array();
  for (const Profile::Part& part : parts)
    out.push_back(
        {{what, part.name}, {"kernel", part.kernel}, {"nodes", part.nodes}, {"ms", part.ms}});
  return out;
}

} // namespace

Profile make_profile(const std::vector<PlannedNode>& plan, std::span<const double> ms) {
  Profile profile;
  std::map<std::pair<std::string, std::string>, Profile::Part> operators;
  for (size_t i = 0; i < plan.size(); ++i) {
    const PlannedNode& node = plan[i];
    if (ms[i] <= 0) continue;
    profile.ms += ms[i];
    profile.nodes.push_back({node.node, node.kernel, ms[i], 1});
    Profile::Part& part = operators[{node.op_type, node.kernel}];
    const int nodes = part.name.empty() ? 1 : part.nodes + 1;
    part = {node.op_type, node.kernel, part.ms + ms[i], nodes};
  }
  for (auto& [key, part] : operators)
    profile.operators.push_back(std::move(part));
  most_first(profile.operators);
  most_first(profile.nodes);
  return profile;
}

std::string text(const Profile& profile) {
  constexpr size_t kMostNodes = 20;
  Table operators({"operator", "kernel", "nodes", "ms", "%"});
  for (const Profile::Part& part : profile.operators)
    operators.add({part.name, part.kernel, fmt::format("{}", part.nodes),
                   fmt::format("{:.4f}", part.ms), fmt::format("{:.1f}", share(part.ms, profile))});
  Table nodes({"node", "kernel", "ms", "%"});
  for (size_t i = 0; i < std::min(profile.nodes.size(), kMostNodes); ++i) {
    const Profile::Part& part = profile.nodes[i];
    nodes.add({part.name, part.kernel, fmt::format("{:.4f}", part.ms),
               fmt::format("{:.1f}", share(part.ms, profile))});
  }
  return operators.text() + "\n" + nodes.text();
}

nlohmann::ordered_json profile_json(const Profile& profile) {
  return {{"ms", profile.ms},
          {"operators", parts_json(profile.operators, "operator")},
          {"nodes", parts_json(profile.nodes, "node")}};
}

} // namespace octet::cli

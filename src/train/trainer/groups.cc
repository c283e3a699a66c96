// SPDX-License-Identifier: Apache-2.0
// Parameter groups.
#include "train/trainer/groups.h"

#include <algorithm>

#include "core/format.h"
#include "core/string_util.h"

namespace octet::train {
namespace {

enum class Rule { kDecays, kSmall, kNamed, kClip };

} // namespace

Result<Groups> parameter_groups(const Graph& graph,
                                const std::vector<Parameter>& parameters,
                                const std::vector<Program::Trained>& trained,
                                const OptimizerOptions& options) {
  const bool by_role = options.kind == OptimizerKind::kAdamW && !options.decay_all;
  std::vector<bool> used(options.no_decay.size(), false);
  const auto rule_of = [&](const Program::Trained& t) {
    Rule rule = Rule::kDecays;
    for (const Parameter& p : parameters)
      if (by_role && p.value == t.value && (p.role == Role::kBias || p.role == Role::kGain))
        rule = Rule::kSmall;
    if (by_role && t.is_scale) rule = Rule::kSmall;
    if (t.is_clip) rule = Rule::kClip;
    for (size_t i = 0; i < options.no_decay.size(); ++i) {
      if (!glob_match(options.no_decay[i], graph.value(t.value).name)) continue;
      used[i] = true;
      rule = rule == Rule::kSmall ? rule : Rule::kNamed;
    }
    return rule;
  };
  Groups groups;
  groups.list = {{by_role ? "weights" : "all", options.weight_decay, {}},
                 {"biases, gains and quantization scales", 0, {}},
                 {"named without decay", 0, {}},
                 {"trained clips", options.clip_decay, {}}};
  for (const Program::Trained& t : trained) {
    ParameterGroup& group = groups.list[static_cast<size_t>(rule_of(t))];
    group.parameters.push_back(graph.value(t.value).name);
    groups.decay.push_back(group.weight_decay);
  }
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i])
      return error("no_decay \"{}\" matches nothing that is trained", options.no_decay[i]);
  std::erase_if(groups.list, [](const ParameterGroup& g) { return g.parameters.empty(); });
  return groups;
}

} // namespace octet::train

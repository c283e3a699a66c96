// SPDX-License-Identifier: Apache-2.0
#include "targets/rule.h"

#include "targets/custom/target.h"

namespace octet {

void Found::add(const Node& node, std::string message, std::string fix) {
  add(label(context_.graph, node), std::move(message), std::move(fix));
  PlacedFinding& added = findings_.back();
  added.place = {path_.steps, node.id};
  if (path_.steps.empty()) added.finding.id = node.id;
}

void Found::add(const std::string& name, std::string message, std::string fix) {
  Finding out;
  out.rule = rule_.id;
  out.severity = rule_.severity_for(context_.target);
  out.node = path_.text + name;
  out.message = std::move(message);
  out.fix = std::move(fix);
  out.source = "targets ";
  out.source +=
      rule_.clause.empty() ? std::string_view(context_.target.custom->name) : rule_.clause;
  findings_.push_back({std::move(out), {path_.steps, {}}});
}

RuleList rules_of(TargetFamily family) {
  switch (family) {
  case TargetFamily::kTensorRt:
    return tensorrt_rules();
  case TargetFamily::kOnnxRuntime:
    return onnxruntime_rules();
  case TargetFamily::kOctet:
    return octet_rules();
  }
  return {};
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
//   operator set 23, file format 11   =>   operator set 20, file format 9: what the target reads
// The file format is exact; of operators that became chains each is a change of its own.
#include "core/format.h"
#include "repair/rule.h"
#include "targets/runtime_limits.h"

#include "octet/export.h"

namespace octet {

namespace {

Change made(std::string rule, std::string node, std::string why, bool exact) {
  Change out;
  out.rule = std::move(rule);
  out.node = std::move(node);
  out.why = std::move(why);
  out.exact = exact;
  if (!exact) out.max_error = std::nullopt;
  return out;
}

} // namespace

std::string lower_versions(std::string_view target, Repaired& repaired) {
  Graph& graph = repaired.graph;
  const RuntimeLimits limits = runtime_limits(target);
  std::string why_not;
  if (const int64_t have = graph.opset(); have > limits.opset) {
    const auto notes = convert_opset(graph, limits.opset);
    if (notes.ok()) {
      repaired.changes.push_back(made(
          "lower_opset", graph.name,
          fmt::format("operator set {} becomes {}, which that release reads", have, limits.opset),
          true));
      for (const ExportNote& note : *notes)
        repaired.changes.push_back(made(note.rule, note.node, note.why, note.exact));
    } else {
      why_not = notes.error().text();
    }
  }
  if (const int64_t have = graph.info.ir_version; have > limits.ir_version) {
    repaired.changes.push_back(made(
        "lower_ir_version", graph.name,
        fmt::format("file format {} becomes {}, which that release reads", have, limits.ir_version),
        true));
    graph.info.ir_version = limits.ir_version;
  }
  return why_not;
}

void explain_what_stays_too_new(const std::string& why_not, std::vector<Finding>& left) {
  for (Finding& finding : left)
    if (finding.rule == "opset" && !why_not.empty())
      finding.fix =
          "write it for that operator set where the file is made; octet cannot: " + why_not;
}

} // namespace octet

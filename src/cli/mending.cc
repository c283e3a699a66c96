// SPDX-License-Identifier: Apache-2.0
#include "cli/mending.h"

#include <algorithm>

#include "core/format.h"

#include "octet/repair.h"

namespace octet::cli {

std::optional<Mending> mending(const Graph& graph,
                               const std::string& model,
                               std::string_view target,
                               const std::vector<Finding>& findings) {
  if (findings.empty()) return std::nullopt;
  Result<Repaired> repaired = repair(graph, target);
  if (!repaired.ok() || repaired->changes.empty()) return std::nullopt;
  const auto errors = [](const std::vector<Finding>& all) {
    return std::count_if(all.begin(), all.end(),
                         [](const Finding& f) { return f.severity == Severity::kError; });
  };
  if (repaired->left.size() >= findings.size() || errors(repaired->left) > errors(findings))
    return std::nullopt;
  const bool accepts = accepted(repaired->left);
  return Mending{fmt::format("octet repair {} --target {}{} -o repaired.onnx", model, target,
                             accepts ? "" : " --partial"),
                 findings.size() - repaired->left.size(), std::move(repaired->left)};
}

const Finding* first_error(const std::vector<Finding>& findings) {
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [](const Finding& f) { return f.severity == Severity::kError; });
  return found == findings.end() ? nullptr : &*found;
}

Status check_as_it_is(const Graph& graph, const std::string& model, const std::string& target) {
  const std::vector<Finding> findings = OCTET_TRY_WITH(check(graph, target), model);
  const Finding* first = first_error(findings);
  if (first == nullptr) return ok_status();
  const auto mended = mending(graph, model, target, findings);
  const bool helps = mended && accepted(mended->left);
  return error(ErrorCode::kRefused, "{}: {} refuses it as it is: {}: {}; first: {}", model, target,
               first->node, first->message, helps ? mended->command : first->fix);
}

} // namespace octet::cli

// SPDX-License-Identifier: Apache-2.0
// What data can be run through: operators that octet has a definition of, in bodies too. Where
// repair itself replaces one that it has none of, the file as it came is run with it replaced too.
#include "core/format.h"
#include "graph/bodies.h"
#include "graph/domains.h"
#include "graph/label.h"
#include "ops/infer.h"
#include "passes/standardize/raise_opset.h"
#include "repair/rules.h"

namespace octet {

namespace {

constexpr Mend kDecompositions[] = {Mend::kUnknownOperators};

bool calls_function(const Graph& model, const Node& node) {
  for (const LocalFunction& function : model.info.functions)
    if (function.domain == node.domain && function.name == node.op_type) return true;
  return false;
}

} // namespace

Status check_runs(const Graph& model, const Graph& graph, const std::string& path) {
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (find_op(node.domain, node.op_type) == nullptr) {
      const bool can_be_written = node.domain == kMicrosoft || calls_function(model, node);
      return error(ErrorCode::kUnsupported,
                   "node {}{}{} \"{}{}\": octet cannot run this operator, and data is run through "
                   "the file; {}",
                   node.domain, node.domain.empty() ? "" : ".", node.op_type, path,
                   name_of(graph, node),
                   can_be_written ? "write it in standard operators first (octet simplify "
                                    "--standard-operators), or repair without data"
                                  : "repair without data");
    }
    for (const auto& [key, body] : bodies_of(node))
      OCTET_TRY(check_runs(model, *body, fmt::format("{}{}/{}/", path, name_of(graph, node), key)));
  }
  return ok_status();
}

Result<Graph> as_it_runs(const Graph& came, const TargetDef& target) {
  Graph out = came;
  out.remove_dead();
  if (check_runs(came, out, "").ok()) return out;
  Graph typed = out;
  if (infer_types(typed).ok()) {
    const RepairOptions options;
    if (typed.opset() < kOldestOpset) static_cast<void>(raise_opset(typed, kOldestOpset).ok());
    OCTET_TRY(RepairDriver(typed, target, options).run(kDecompositions));
    out = std::move(typed);
  }
  OCTET_TRY(check_runs(came, out, ""));
  return out;
}

} // namespace octet

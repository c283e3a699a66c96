// SPDX-License-Identifier: Apache-2.0
// What octet itself cannot run, and how it runs the rest: lowering says so.
#include "core/format.h"
#include "ops/op.h"
#include "passes/lower/lower.h"
#include "targets/checks.h"

namespace octet {

namespace {

void known_operator(const CheckContext& context, const Node& node) {
  if (find_op(node.domain, node.op_type) != nullptr) return;
  context.add(
      "unknown-operator", Severity::kError, label(context.graph, node),
      fmt::format("octet has no definition of {} (domain \"{}\")", node.op_type, node.domain),
      "replace it by standard operators", "octet");
}

constexpr CheckFn* kOctetChecks[] = {known_operator};

std::string precision_of(const std::string& form) {
  if (form.find("fused into") != std::string::npos) return "fused";
  if (form.find("on codes") != std::string::npos) return "codes";
  const bool integer = form.find(".Q") != std::string::npos || form.starts_with("Q");
  return integer ? "int8" : "float";
}

} // namespace

std::span<CheckFn* const> octet_checks() {
  return kOctetChecks;
}

Result<std::vector<LayerForm>> explain_octet(const Graph& graph, const TargetDef&) {
  const Lowered lowered = OCTET_TRY_WITH(lower(graph), "explain");
  std::vector<LayerForm> out;
  for (const LowerNote& note : lowered.notes) {
    LayerForm form;
    const size_t quote = note.node.find(" \"");
    form.op = note.node.substr(0, quote);
    form.node = quote == std::string::npos
                    ? note.node
                    : note.node.substr(quote + 2, note.node.size() - quote - 3);
    form.form = note.form;
    form.precision = precision_of(note.form);
    form.why = note.why;
    form.source = "native-operators";
    if (form.op != "QuantizeLinear" && form.op != "DequantizeLinear" && form.op != "Constant")
      out.push_back(std::move(form));
  }
  return out;
}

} // namespace octet

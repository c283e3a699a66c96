// SPDX-License-Identifier: Apache-2.0
// What octet itself cannot run, and how it runs the rest: lowering says so.
#include <map>

#include "core/format.h"
#include "ops/op.h"
#include "passes/lower/lower.h"
#include "targets/checks.h"
#include "targets/onnxruntime_integer.h"

namespace octet {

namespace {

void known_operator(const CheckContext& context, const Node& node) {
  if (find_op(node.domain, node.op_type) != nullptr) return;
  context.add(
      "unknown-operator", Severity::kError, label(context.graph, node),
      fmt::format("octet has no definition of {} (domain \"{}\")", node.op_type, node.domain),
      "replace it by standard operators", "octet");
}

constexpr CheckFn* kOctetChecks[] = {known_operator, odd_scale};

std::string precision_of(const std::string& form) {
  if (form.find("fused into") != std::string::npos) return "fused";
  if (form.find("on codes") != std::string::npos) return "codes";
  const bool integer = form.find(".Q") != std::string::npos || form.starts_with("Q");
  return integer ? "int8" : "float";
}

/// An operator that is not lowered: octet's own, or one that is integer in the file.
void as_it_is(const Node& node, LayerForm& form) {
  if (node.domain == "octet.native")
    form.why = "octet's own operator";
  else if (computes_in_integers(node))
    form.precision = "int8";
}

/// The operator that a chain of nodes became: its label is not among the file's.
LayerForm of_chain(const LowerNote& note) {
  const size_t quote = note.node.find(" \"");
  const std::string type = note.node.substr(0, quote);
  LayerForm out;
  out.op = type.substr(type.rfind('.') + 1);
  out.node = quote == std::string::npos ? note.node
                                        : note.node.substr(quote + 2, note.node.size() - quote - 3);
  out.form = note.form;
  out.precision = precision_of(note.form);
  out.why = note.why;
  out.source = "native-operators";
  return out;
}

} // namespace

std::span<CheckFn* const> octet_checks() {
  return kOctetChecks;
}

Result<std::vector<LayerForm>> explain_octet(const Graph& graph, const TargetDef&) {
  Graph named = graph; // notes speak of nodes by name
  for (const NodeId id : named.nodes())
    named.mutable_node(id).name = name_of(graph, graph.node(id));
  const Lowered lowered = OCTET_TRY_WITH(lower(named), "explain");
  std::multimap<std::string, const LowerNote*> notes;
  for (const LowerNote& note : lowered.notes)
    notes.emplace(note.node, &note);
  std::vector<LayerForm> out;
  for (const NodeId id : OCTET_TRY(named.topological())) {
    const Node& node = named.node(id);
    const auto found = notes.find(node.label());
    const LowerNote* note = found == notes.end() ? nullptr : found->second;
    if (note != nullptr) notes.erase(found);
    if (is_qdq(node) || node.is("Constant")) continue;
    LayerForm form;
    form.node = node.name;
    form.op = node.op_type;
    form.source = "native-operators";
    if (note != nullptr) {
      form.form = note->form;
      form.why = note->why;
      form.precision = precision_of(form.form);
    } else {
      form.form = "fused";
      form.precision = "fused";
      form.why = "part of a chain that runs as one operator, a Gelu or a LayerNormalization";
    }
    if (form.form == node.op_type) as_it_is(node, form);
    out.push_back(std::move(form));
  }
  for (const auto& left : notes) // what chains became
    out.push_back(of_chain(*left.second));
  return out;
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "passes/lower/fused.h"

#include <map>
#include <string>

#include "graph/domains.h"

namespace octet::lowering {

namespace {

bool same_grid(const Node& a, const Node& b) {
  constexpr auto kDefault = static_cast<int64_t>(DType::kInt8);
  return a.attr_float("scale", 1.0F) == b.attr_float("scale", 1.0F) &&
         a.attr_int("zero_point", 0) == b.attr_int("zero_point", 0) &&
         a.attr_int("to", kDefault) == b.attr_int("to", kDefault);
}

} // namespace

std::vector<const Node*> alike_quantizers(const RuleContext& c, ValueId value) {
  std::vector<const Node*> out;
  if (c.graph.is_output(value)) return out;
  for (const Uses::Use& use : c.uses.of(value)) {
    const Node& node = c.graph.node(use.node);
    if (!node.is("Quantize", kNative) || (!out.empty() && !same_grid(node, *out[0]))) return {};
    out.push_back(&node);
  }
  // One value has one name.
  for (const Node* node : out)
    if (out.size() > 1 && c.graph.is_output(node->output(0))) return {};
  return out;
}

Status fuse_by(std::span<const Rule> rules, Graph& graph, std::vector<LowerNote>& notes) {
  const std::vector<Step> steps = OCTET_TRY(rewrite(graph, rules));
  if (steps.empty()) return ok_status();
  std::map<std::string, LowerNote*, std::less<>> by_name;
  for (LowerNote& note : notes)
    if (!note.name.empty()) by_name.emplace(note.name, &note);
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const auto into = by_name.find(node.name);
    if (into == by_name.end()) continue;
    for (const std::string& part : node.origin) {
      const auto note = by_name.find(part);
      if (note == by_name.end() || note == into || note->second->runs == LowerForm::kFused)
        continue;
      note->second->runs = LowerForm::kFused;
      note->second->form = "fused into " + into->second->node;
      note->second->why.clear();
    }
  }
  return ok_status();
}

} // namespace octet::lowering

// SPDX-License-Identifier: Apache-2.0
// octet's dynamic products as ONNX's.
#include <algorithm>

#include "graph/domains.h"
#include "graph/verify.h"
#include "passes/export_note.h"
#include "passes/standardize/decompose_dynamic_gemm.h"

#include "octet/export.h"

namespace octet {

namespace {

std::optional<Patch> dynamic_gemm(const RuleContext& context, const Node& node) {
  if (!node.input(0).valid()) return std::nullopt;
  return decompose_dynamic_gemm(context.graph, node, context.uses.of(node.input(0)));
}

constexpr Rule kRules[] = {{"dynamic_gemm", dynamic_gemm}};

} // namespace

Result<std::vector<ExportNote>> convert_dynamic(Graph& graph) {
  std::vector<ExportNote> notes;
  const auto convert = [&]() -> Status {
    OCTET_TRY(infer_types(graph));
    add_notes(OCTET_TRY(rewrite(graph, kRules)), notes);
    if (notes.empty()) return ok_status();
    graph.remove_dead();
    const std::vector<NodeId> nodes = graph.nodes();
    if (std::none_of(nodes.begin(), nodes.end(),
                     [&](NodeId id) { return graph.node(id).domain == kNative; }))
      graph.opsets.erase(kNative);
    OCTET_TRY(infer_types(graph));
    return verify(graph);
  };
  OCTET_TRY_WITH(convert(), "dynamic products");
  return notes;
}

} // namespace octet

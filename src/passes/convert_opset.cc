// SPDX-License-Identifier: Apache-2.0
#include "graph/verify.h"
#include "passes/raise_opset.h"
#include "passes/reduce_opset.h"

#include "octet/export.h"

namespace octet {

Result<std::vector<ExportNote>> convert_opset(Graph& graph, int64_t version) {
  std::vector<ExportNote> notes;
  if (version == graph.opset()) return notes;
  if (version > graph.opset()) {
    OCTET_TRY(raise_opset(graph, version));
    return notes;
  }
  Graph out = graph;
  for (const Step& step : OCTET_TRY(reduce_opset(out, version)))
    notes.push_back({step.rule, step.node, step.why, step.exactness == Exactness::kExact});
  OCTET_TRY(verify(out));
  graph = std::move(out);
  return notes;
}

} // namespace octet

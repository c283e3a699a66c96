// SPDX-License-Identifier: Apache-2.0
#include "graph/verify.h"
#include "passes/export_note.h"
#include "passes/standardize/raise_opset.h"
#include "passes/standardize/reduce_opset.h"

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
  add_notes(OCTET_TRY(reduce_opset(out, version)), notes);
  OCTET_TRY(verify(out));
  graph = std::move(out);
  return notes;
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
#include "cli/text_model.h"

#include <array>
#include <fstream>

#include "core/atomic_file.h"
#include "core/format.h"
#include "core/string_util.h"
#include "ops/infer.h"

#include "octet/graph_text.h"
#include "octet/models.h"

namespace octet::cli {
namespace {

/// A graph written by hand stays far below this.
constexpr size_t kMaxTextBytes = size_t{256} << 20;

} // namespace

bool is_text_model(const std::string& path) {
  std::array<char, 4096> start{};
  std::ifstream in(path, std::ios::binary);
  in.read(start.data(), start.size());
  const std::string_view text(start.data(), static_cast<size_t>(in.gcount()));
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view words = trim(line);
    if (!words.empty() && words[0] != '#') return words == "graph" || words.starts_with("graph ");
  }
  return false;
}

Result<Graph> open_text_model(const std::string& path, const Graph* weights, uint64_t seed) {
  const std::string text = OCTET_TRY(read_file(path, kMaxTextBytes));
  std::vector<DrawnConstant> drawn;
  Graph graph = OCTET_TRY_WITH(parse_graph(text, weights, &drawn), path);
  OCTET_TRY_WITH(draw_constants(graph, drawn, seed), path);
  for (const Disagreement& one : disagreements(graph))
    return error("{}: {}; write what it computes", path, one.text());
  OCTET_TRY_WITH(infer_types(graph), path);
  return graph;
}

} // namespace octet::cli

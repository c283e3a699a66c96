// SPDX-License-Identifier: Apache-2.0
// The textual form of graphs: refused with an error, or parsed and printed to text that parses.
#include "octet/graph_text.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "replay/seeds.h"

namespace octet::fuzz {

std::vector<std::string> seeds() {
  return {
      "graph g opset(\"\"=17)\ninput x: f32[N, 2*M]\nconst w: i8[3] = [-128, 0, 127]\n"
      "y, _ = Split(x, _, w) {axis=-1, f=[1.0, nan], t=tensor(i64[1], [5])} \"n\"\n"
      "output y: f32[*]\n",
      "graph m\ninput c: bool[]\ninput x: f32[4]\ny = If(c) {b={ graph a\n  capture x: f32[4]\n"
      "  t = com.microsoft.Gelu(x)\n  output t: f32[4]\n}, r=ref(\"k\", 2), p=raw(14, \"0a\"), "
      "e=ints[]}\noutput y: opaque(\"0a02\")\n",
      "graph s\nconst s: string[2] = [\"a\\x00\", \"\\\"\"]\nconst e: f8e4m3fn[2] = [448, -inf]\n"};
}

} // namespace octet::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const octet::Result<octet::Graph> graph = octet::parse_graph(text);
  if (!graph.ok()) return 0;
  const std::string printed = octet::print(*graph, {.max_elements = 1 << 30, .types = true});
  // Complex constants are always left out of the text.
  const bool complete =
      printed.find(" = @") == std::string::npos && printed.find(", @") == std::string::npos;
  if (complete && !octet::parse_graph(printed).ok()) std::abort();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Graphs in which constants are to be drawn: refused with an error, or numbers that are finite and
// the same for the same seed.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "replay/seeds.h"

#include "octet/graph_text.h"
#include "octet/models.h"

namespace octet::fuzz {

std::vector<std::string> seeds() {
  return {
      "graph g opset(\"\"=17)\ninput x: f32[N, 4]\nconst w: f32[4, 8] = init he\n"
      "const b: f32[8] = init\nconst v: f32[8, 2] = init xavier\n"
      "h = MatMul(x, w)\ns = Add(h, b)\ny = Gemm(s, v) {alpha=2.0}\noutput y: f32[N, 2]\n",
      "graph c opset(\"\"=17)\ninput x: f32[N, 2, 5, 5]\nconst w: f32[4, 1, 3, 3] = init\n"
      "const b: f32[4] = init zeros\nconst g: f32[4] = init\nconst m: f32[4] = init\n"
      "const t: f32[4, 2, 2, 2] = init uniform\n"
      "h = Conv(x, w, b) {group=2, pads=[1, 1, 1, 1]}\n"
      "n = BatchNormalization(h, g, b, m, g)\ny = ConvTranspose(n, t) {group=1}\n"
      "output y: f32[*]\n",
      "graph e opset(\"\"=17)\ninput i: i64[N]\nconst t: f32[16, 4] = init normal 0.01\n"
      "const o: f32[4] = init ones\ne = Gather(t, i)\n"
      "y = LayerNormalization(e, o, o)\noutput y: f32[*]\n",
      "graph d opset(\"\"=17)\ninput x: f32[2, 2]\nconst w: f32[2, 2] = init normal 1e300\n"
      "const z: f32[0, 2] = init he\nconst h: f16[2] = init\ny = MatMul(w, x)\noutput y: f32[*]\n"};
}

} // namespace octet::fuzz

namespace {

constexpr int64_t kMostElements = 1 << 16;

bool same_bits(const octet::Tensor& a, const octet::Tensor& b) {
  return std::ranges::equal(a.bytes(), b.bytes());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<octet::DrawnConstant> drawn;
  octet::Result<octet::Graph> graph = octet::parse_graph(text, nullptr, &drawn);
  if (!graph.ok()) return 0;
  int64_t elements = 0;
  for (const octet::DrawnConstant& one : drawn)
    elements += graph->value(one.value).constant.count();
  if (elements > kMostElements) return 0;
  octet::Graph again = *graph;
  const bool ok = octet::draw_constants(*graph, drawn, 7).ok();
  if (octet::draw_constants(again, drawn, 7).ok() != ok) std::abort();
  if (!ok) return 0;
  for (const octet::DrawnConstant& one : drawn) {
    const octet::Tensor& made = graph->value(one.value).constant;
    if (!same_bits(made, again.value(one.value).constant)) std::abort();
    for (const float v : made.data<float>())
      if (!std::isfinite(v)) std::abort();
  }
  return 0;
}

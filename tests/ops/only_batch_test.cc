// SPDX-License-Identifier: Apache-2.0
// Models that leave their batch open and hold the sizes of one example, beside such as do not.
#include "ops/only_batch.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"

namespace octet {
namespace {

struct Model {
  const char* what;
  const char* text;
  std::optional<int64_t> batch;
};

constexpr Model kModels[] = {
    {"open", R"(graph g opset(""=17)
input x: f32[N, 4]
y = Relu(x)
output y: f32[N, 4]
)",
     std::nullopt},
    {"declared", R"(graph g opset(""=17)
input x: f32[3, 4]
y = Relu(x)
output y: f32[3, 4]
)",
     3},
    {"reshaped to one", R"(graph g opset(""=17)
input x: f32[N, 6, 4]
const to: i64[4] = [1, 6, 2, 2]
y = Reshape(x, to)
output y: f32[1, 6, 2, 2]
)",
     1},
    {"reshaped for any", R"(graph g opset(""=17)
input x: f32[N, 6, 4]
const to: i64[4] = [0, -1, 2, 2]
y = Reshape(x, to)
output y: f32[N, 6, 2, 2]
)",
     std::nullopt},
    {"beside a token of one", R"(graph g opset(""=17)
input x: f32[N, 2, 3]
const token: f32[1, 1, 3] = [1, 2, 3]
y = Concat(token, x) {axis=1}
output y: f32[N, 3, 3]
)",
     1},
    {"a token for each", R"(graph g opset(""=17)
input x: f32[N, 2, 3]
const token: f32[1, 1, 3] = [1, 2, 3]
const rest: i64[2] = [1, 3]
shape = Shape(x) {end=1, start=0}
size = Concat(shape, rest) {axis=0}
tokens = Expand(token, size)
y = Concat(tokens, x) {axis=1}
output y: f32[N, 3, 3]
)",
     std::nullopt},
    {"a state of the same batch", R"(graph g opset(""=17)
input x: f32[N, 3]
input h: f32[2, N, 3]
y = Add(x, h)
output y: f32[2, N, 3]
)",
     std::nullopt},
    {"that fit no number", R"(graph g opset(""=17)
input x: f32[N, 3]
const w: f32[2, 2] = [1, 2, 3, 4]
y = MatMul(x, w)
output y: f32[N, 2]
)",
     std::nullopt},
};

TEST(OnlyBatch, FollowsFromSizesThatTheGraphHolds) {
  for (const Model& model : kModels) {
    SCOPED_TRACE(model.what);
    const auto graph = parse_graph(model.text);
    ASSERT_TRUE(graph.ok()) << graph.error().text();
    EXPECT_EQ(only_batch(*graph), model.batch);
  }
}

} // namespace
} // namespace octet

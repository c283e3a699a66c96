// SPDX-License-Identifier: Apache-2.0
// An input that is one number from now on: what it becomes, and that nothing else changes.
#include "passes/pass_support.h"

#include "octet/passes.h"

namespace octet {
namespace {

using test::parse;

constexpr const char* kEmbedding = R"(graph g opset(""=17)
input ids: i64[N, S]
input kinds: i64[N, S]
const words: f32[2, 3] = [1, 2, 3, 4, 5, 6]
const table: f32[2, 3] = [0.5, 0.25, 0.125, 7, 8, 9]
a = Gather(words, ids)
b = Gather(table, kinds)
y = Add(a, b)
output y: f32[N, S, 3]
)";

Tensor run(const Graph& graph, const std::vector<Tensor>& inputs) {
  return make_reference_executor(graph).value()->run(inputs).value().at(0);
}

TEST(DropInput, BecomesOneRowThatIsBroadcast) {
  const Graph before = parse(kEmbedding);
  for (const double value : {0.0, 1.0}) {
    Graph after = before;
    const Result<std::string> words = drop_input(after, "kinds", value);
    ASSERT_TRUE(words.ok()) << words.error().text();
    EXPECT_NE(words->find("a constant i64[1, 1]"), std::string::npos) << *words;
    ASSERT_TRUE(simplify(after).ok());
    EXPECT_EQ(after.inputs().size(), 1U);
    EXPECT_EQ(after.nodes().size(), 2U);
    const Tensor ids = Tensor::of<int64_t>({2, 2}, {0, 1, 1, 0});
    const auto kind = static_cast<int64_t>(value);
    const Tensor kinds = Tensor::of<int64_t>({2, 2}, {kind, kind, kind, kind});
    EXPECT_TRUE(run(before, {ids, kinds}).identical(run(after, {ids})));
  }
}

TEST(DropInput, IsFollowedThroughWhatMovesToAnIndex) {
  Graph g = parse(R"(graph g opset(""=17)
input ids: i64[N, S]
input kinds: i64[S, N]
const words: f32[2, 3] = [1, 2, 3, 4, 5, 6]
turned = Transpose(kinds) {perm=[1, 0]}
a = Gather(words, ids)
b = Gather(words, turned)
y = Add(a, b)
output y: f32[N, S, 3]
)");
  const auto outside = drop_input(g, "kinds", 2);
  ASSERT_FALSE(outside.ok());
  EXPECT_NE(outside.error().text().find("takes from 2 rows"), std::string::npos)
      << outside.error().text();
}

TEST(DropInput, IsExpandedWhereItsShapeCounts) {
  const Graph before = parse(R"(graph g opset(""=17)
input x: f32[N, S]
input z: f32[N, S]
y = Concat(x, z) {axis=1}
output y: f32[N, 2*S]
)");
  Graph after = before;
  const Result<std::string> words = drop_input(after, "z", 3);
  ASSERT_TRUE(words.ok()) << words.error().text();
  EXPECT_NE(words->find("expanded to the shape of \"x\""), std::string::npos) << *words;
  for (int32_t i = 0; i < after.value_bound(); ++i) {
    const Value& v = after.value(ValueId{i});
    EXPECT_TRUE(v.kind != ValueKind::kNodeOutput || v.producer.valid() ||
                after.find_value(v.name) != v.id)
        << v.name << ": nothing produces it, and a file would state its type";
  }
  const Tensor x = Tensor::of<float>({1, 2}, {1, 2});
  const Tensor z = Tensor::of<float>({1, 2}, {3, 3});
  EXPECT_TRUE(run(before, {x, z}).identical(run(after, {x})));
}

TEST(DropInput, ErrorsNameTheInput) {
  Graph g = parse(kEmbedding);
  const auto unknown = drop_input(g, "kind", 0);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().text().find("did you mean \"kinds\""), std::string::npos);
  const auto fraction = drop_input(g, "kinds", 0.5);
  ASSERT_FALSE(fraction.ok());
  EXPECT_NE(fraction.error().text().find("0.5 is no number of type"), std::string::npos);
  for (const double row : {2.0, -3.0}) {
    const auto outside = drop_input(g, "kinds", row);
    ASSERT_FALSE(outside.ok());
    EXPECT_NE(outside.error().text().find("takes from 2 rows; give one of 0 to 1"),
              std::string::npos)
        << outside.error().text();
  }
  Graph alone = parse(R"(graph g opset(""=17)
input x: f32[2]
input z: f32[M]
y = Concat(x, z) {axis=0}
output y: f32[M + 2]
)");
  const auto open = drop_input(alone, "z", 0);
  ASSERT_FALSE(open.ok());
  EXPECT_NE(open.error().text().find("open sizes that no other input has"), std::string::npos);
}

} // namespace
} // namespace octet

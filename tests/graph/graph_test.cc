// SPDX-License-Identifier: Apache-2.0
// Ids, uses, order, dead code, the verifier and patches.
#include <algorithm>

#include "core/philox.h"
#include "graph/patch.h"
#include "graph/serialized.h"
#include "graph/verify.h"
#include "ops/infer.h"
#include "passes/rewrite.h"
#include <gtest/gtest.h>

#include "octet/graph.h"
#include "octet/graph_text.h"
#include "octet/onnx.h"

namespace octet {
namespace {

Graph parse(const char* text) {
  Result<Graph> g = parse_graph(text);
  EXPECT_TRUE(g.ok()) << (g.ok() ? "" : g.error().text());
  return std::move(g).value();
}

constexpr const char* kChain = R"(graph g opset(""=17)
input x: f32[2]
a = Neg(x) "n0"
b = Neg(a) "n1"
c = Abs(b) "n2"
d = Exp(a) "dead"
output c: f32[2]
)";

TEST(Graph, RemovingDeadNodesKeepsIds) {
  Graph g = parse(kChain);
  const NodeId last = *g.find_node("n2");
  EXPECT_EQ(g.remove_dead(), 1);
  EXPECT_FALSE(g.find_node("dead"));
  EXPECT_FALSE(g.find_value("d"));
  EXPECT_EQ(*g.find_node("n2"), last);
  EXPECT_TRUE(verify(g).ok());
}

/// As its contract says it, by asking for one after the other.
std::string first_free_name(const Graph& graph, const std::string& base) {
  std::string out = base;
  for (int k = 1; graph.find_value(out); ++k)
    out = base + "_" + std::to_string(k);
  return out;
}

TEST(Graph, NamesThatAreFreeAgainAreTakenAgain) {
  const std::vector<std::string> bases = {"a",   "a_1", "a_2", "a_02", "a_",
                                          "a_x", "_1",  "a_0", "a_1_2"};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Philox random(seed, 0);
    Graph g;
    std::vector<ValueId> values;
    for (int change = 0; change < 300; ++change) {
      const std::string& base =
          bases[static_cast<size_t>(random.below(static_cast<int64_t>(bases.size())))];
      const std::string expected = first_free_name(g, base);
      ASSERT_EQ(g.unique_name(base), expected);
      const double choice = random.uniform();
      if (choice < 0.6 || values.empty()) {
        values.push_back(g.add_constant(base, Tensor::scalar(1.0F)));
        ASSERT_EQ(g.value(values.back()).name, expected);
        continue;
      }
      const auto at = static_cast<size_t>(random.below(static_cast<int64_t>(values.size())));
      if (choice < 0.75) {
        g.rename(values[at], base);
        continue;
      }
      g.remove_value(values[at]);
      values.erase(values.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
}

/// The lowest of those whose producers are all in, one after the other.
std::vector<NodeId> lowest_first(const Graph& graph) {
  std::vector<NodeId> out, open = graph.nodes();
  const auto is_ready = [&](NodeId id) {
    return std::all_of(graph.node(id).inputs.begin(), graph.node(id).inputs.end(), [&](ValueId in) {
      const NodeId before = graph.value(in).producer;
      return !before.valid() || std::find(out.begin(), out.end(), before) != out.end();
    });
  };
  while (!open.empty()) {
    const auto next = std::find_if(open.begin(), open.end(), is_ready);
    out.push_back(*next);
    open.erase(next);
  }
  return out;
}

TEST(Graph, OrderTakesTheLowestIdThatCanGo) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Philox random(seed, 3);
    Graph g;
    std::vector<ValueId> values = {g.add_input("x", tensor_type(DType::kFloat32, Shape{1}))};
    for (int i = 0; i < 40; ++i)
      values.push_back(g.add_value("v"));
    std::vector<Node> nodes; // each reads values before its own
    for (size_t i = 1; i < values.size(); ++i) {
      const auto any = [&] {
        return values[static_cast<size_t>(random.below(static_cast<int64_t>(i)))];
      };
      Node node;
      node.op_type = "Sum";
      node.inputs = {any(), any()};
      node.outputs = {values[i]};
      nodes.push_back(node);
    }
    const int64_t moves =
        static_cast<int64_t>(seed) % 10 * 4; // none: the order of insertion is one
    for (int64_t k = 0; k < moves; ++k)
      std::swap(nodes[static_cast<size_t>(random.below(40))],
                nodes[static_cast<size_t>(random.below(40))]);
    for (const Node& node : nodes)
      g.add_node(node);
    EXPECT_EQ(g.topological().value(), lowest_first(g));
  }
}

TEST(Graph, OrderFollowsDataNotInsertion) {
  Graph g;
  const ValueId x = g.add_input("x", tensor_type(DType::kFloat32, Shape{1}));
  const ValueId middle = g.add_value("middle"), end = g.add_value("end");
  Node second, first;
  second.op_type = first.op_type = "Neg";
  second.inputs = {middle};
  second.outputs = {end};
  first.inputs = {x};
  first.outputs = {middle};
  const NodeId late = g.add_node(second), early = g.add_node(first);
  g.mark_output(end);
  const auto order = g.topological();
  ASSERT_TRUE(order.ok());
  EXPECT_EQ(*order, (std::vector<NodeId>{early, late}));
  g.set_node_input(early, 0, end);
  ASSERT_FALSE(g.topological().ok());
  EXPECT_NE(g.topological().error().text().find("cycle"), std::string::npos);
  EXPECT_FALSE(verify(g).ok());
}

TEST(Graph, NodesWithoutNamesAreCalledByTheirOutput) {
  const Graph g = parse(R"(graph g opset(""=17)
input x: f32[2]
input y: f32[3]
a = Neg(x) "n0"
sum = Add(a, y)
output sum: f32[3]
)");
  Graph typed = g;
  const Status types = infer_types(typed);
  ASSERT_FALSE(types.ok());
  EXPECT_NE(types.error().text().find("node Add \"sum\": "), std::string::npos)
      << types.error().text();
  Graph cyclic = g;
  cyclic.set_node_input(*cyclic.find_node("n0"), 0, *cyclic.find_value("sum"));
  const std::string cycle = cyclic.topological().error().text();
  EXPECT_NE(cycle.find("node Neg \"n0\": is on a cycle"), std::string::npos) << cycle;
}

TEST(Graph, CopyingSharesWeights) {
  Graph g;
  const ValueId w = g.add_constant("w", Tensor::of<float>({2}, {1, 2}));
  const Graph copy = g;
  EXPECT_EQ(copy.value(w).constant.bytes().data(), g.value(w).constant.bytes().data());
}

TEST(Graph, ConstantsAndInputsKeepApart) {
  Graph g;
  const ValueId x = g.add_input("x", tensor_type(DType::kFloat32, Shape{2}));
  const ValueId w = g.add_input("w", tensor_type(DType::kFloat32, Shape{2}));
  g.mark_output(g.emit("Add", {x, w}));
  g.set_constant(w, Tensor::of<float>({1}, {1}));
  EXPECT_EQ(g.inputs(), std::vector<ValueId>{x});
  EXPECT_EQ(g.value(w).type.text(), "f32[1]");
  EXPECT_TRUE(verify(g).ok());

  g.set_inputs({w});
  EXPECT_EQ(g.value(w).kind, ValueKind::kInput);
  EXPECT_EQ(g.constant(w), nullptr);
  EXPECT_TRUE(g.value(w).constant.empty()) << "an input holds no tensor";
  EXPECT_EQ(verify(g).error().text(),
            "node Add \"Add_0\": input 0: value \"x\": nothing produces it");

  g.replace_uses(x, w);
  g.remove_value(w);
  EXPECT_TRUE(g.find_value("w")) << "an input stays";
  g.remove_value(x);
  EXPECT_FALSE(g.find_value("x"));
  EXPECT_EQ(g.value(g.add_value("x")).name, "x");
  g.remove_value(x);
  EXPECT_TRUE(g.find_value("x")) << "the name is another value's by now";
}

TEST(Graph, ConstantsBecomeCapturesAndBack) {
  Graph body;
  const ValueId w = body.add_constant("w", Tensor::of<float>({2}, {1, 2}));
  body.set_captured(w, ValueId{7});
  EXPECT_EQ(body.value(w).kind, ValueKind::kCapture);
  EXPECT_EQ(body.value(w).captured, ValueId{7});
  EXPECT_TRUE(body.value(w).constant.empty());
  body.set_captured(w, ValueId{8});
  EXPECT_EQ(body.value(w).captured, ValueId{8});
  body.set_constant(w, Tensor::of<float>({1}, {3}));
  EXPECT_TRUE(body.value(w).is_constant());
  EXPECT_FALSE(body.value(w).captured.valid());
}

TEST(Graph, AnInputThatIsCapturedIsGivenNoMore) {
  Graph body;
  const ValueId x = body.add_input("x", tensor_type(DType::kFloat32, Shape{2}));
  const ValueId w = body.add_input("w", tensor_type(DType::kFloat32, Shape{2}));
  body.set_captured(w, ValueId{7});
  EXPECT_EQ(body.value(w).kind, ValueKind::kCapture);
  EXPECT_EQ(body.value(w).type.text(), "f32[2]");
  EXPECT_EQ(body.inputs(), std::vector<ValueId>{x});
}

TEST(GraphDeathTest, ProducedValuesBecomeNothingElse) {
  Graph g;
  const ValueId x = g.add_input("x", {});
  const ValueId y = g.emit("Neg", {x});
  EXPECT_DEATH(g.set_inputs({y}), "check failed");
  EXPECT_DEATH(g.set_constant(y, Tensor::scalar(1.0F)), "check failed");
  EXPECT_DEATH(g.set_captured(y, x), "check failed");
}

TEST(Graph, ValuesLikeThoseOfAnotherGraph) {
  Graph from;
  const ValueId x = from.add_input("x", tensor_type(DType::kInt8, Shape{3}));
  from.set_doc(x, "what it is", {{"unit", "m"}});
  const ValueId w = from.add_constant("w", Tensor::of<float>({2}, {1, 2}));
  const ValueId c = from.add_capture("c", ValueId{4}, {});
  const ValueId y = from.emit("Neg", {x}, {}, "y");

  Graph to;
  const ValueId xs = to.add_like(from.value(x));
  EXPECT_EQ(to.value(xs).name, "x");
  EXPECT_EQ(to.value(xs).type.text(), "i8[3]");
  EXPECT_EQ(to.value(xs).doc, "what it is");
  EXPECT_EQ(to.value(xs).metadata, (Metadata{{"unit", "m"}}));
  EXPECT_TRUE(to.value(xs).declared);
  EXPECT_EQ(to.value(xs).kind, ValueKind::kNodeOutput) << "which inputs there are is set_inputs'";
  const ValueId ws = to.add_like(from.value(w));
  EXPECT_EQ(to.value(ws).constant.bytes().data(), from.value(w).constant.bytes().data());
  EXPECT_EQ(to.value(to.add_like(from.value(c), xs)).captured, xs);
  EXPECT_FALSE(to.value(to.add_like(from.value(y))).producer.valid());
  EXPECT_EQ(to.value(to.add_like(from.value(x))).name, "x_1") << "names stay unique";
}

/// A node with an attribute that no operator computes with: a TypeProto.
constexpr const char* kTyped = R"(graph g opset(""=17)
input x: f32[2]
y = Neg(x) {type=raw(14, "0a020801")} "n"
output y: f32[2]
)";

TEST(Serialized, AttributesAreTextHashAndBytes) {
  const Graph g = parse(kTyped);
  EXPECT_NE(print(g).find("{type=raw(14, \"0a020801\")}"), std::string::npos) << print(g);
  EXPECT_EQ(parse(print(g).c_str()).content_hash(), g.content_hash());
  Graph other = g;
  other.mutable_node(*other.find_node("n")).attributes.at("type").value =
      std::make_shared<const SerializedAttribute>(SerializedAttribute{14, "\n\2\b\2"});
  EXPECT_NE(other.content_hash(), g.content_hash());
  const std::string bytes = serialize_onnx(g).value();
  EXPECT_NE(bytes.find("\x72\4\n\2\b\1"), std::string::npos) << "field 14, four bytes";
}

TEST(Serialized, AnAttributeOfNothingIsAnErrorWhenWritten) {
  Graph g = parse(kTyped);
  g.mutable_node(*g.find_node("n")).attributes.at("type").value =
      std::shared_ptr<const SerializedAttribute>();
  EXPECT_NE(g.content_hash(), 0U);
  EXPECT_NE(print(g).find("{type=none}"), std::string::npos) << print(g);
  const Result<std::string> bytes = serialize_onnx(g);
  ASSERT_FALSE(bytes.ok());
  EXPECT_NE(bytes.error().text().find("attribute \"type\": holds no sparse tensor or type"),
            std::string::npos)
      << bytes.error().text();
}

TEST(Serialized, GoesAlongWithCopies) {
  Graph from = parse(kChain);
  const NodeId n = *from.find_node("n0");
  from.mutable_node(n).serialized =
      std::make_shared<const SerializedNode>(SerializedNode{"\x7a\1a"});
  const ValueId x = *from.find_value("x");
  from.set_serialized(x, std::make_shared<const SerializedValue>(SerializedValue{.sparse = "s"}));
  const Graph copy = from;
  EXPECT_EQ(serialized(copy.node(n)).fields, "\x7a\1a");
  EXPECT_EQ(serialized(copy.value(x)).sparse, "s");
  EXPECT_EQ(serialized(copy.node(*from.find_node("n1"))).fields, "");
  Graph to;
  EXPECT_EQ(serialized(to.value(to.add_like(copy.value(x)))).sparse, "s");
}

TEST(Verify, NamesTheBrokenThing) {
  Graph g = parse(kChain);
  g.remove_node(*g.find_node("n1"));
  const Status s = verify(g);
  ASSERT_FALSE(s.ok());
  EXPECT_NE(s.error().text().find("Abs \"n2\": input 0"), std::string::npos) << s.error().text();
}

std::optional<Patch> cancel_double_negation(const RuleContext& context, const Node& node) {
  if (!node.is("Neg")) return std::nullopt;
  const Node* inner = context.graph.producer(node.input(0));
  if (!inner || !inner->is("Neg")) return std::nullopt;
  if (!can_replace(context.graph, node.outputs[0], inner->input(0))) return std::nullopt;
  Patch p(context.graph, "two negations cancel", Exactness::kExact);
  p.from(node).from(*inner).replace(node.outputs[0], inner->input(0));
  return p;
}

std::optional<Patch> grow_forever(const RuleContext& context, const Node& node) {
  if (!node.is("Abs")) return std::nullopt;
  Patch p(context.graph, "again", Exactness::kExact);
  p.from(node).replace(node.outputs[0], p.emit("Abs", {node.input(0)}));
  return p;
}

TEST(Rewrite, AppliesToAFixedPointAndLogs) {
  Graph g = parse(kChain);
  const Rule rules[] = {{"cancel_double_negation", cancel_double_negation}};
  const auto steps = rewrite(g, rules);
  ASSERT_TRUE(steps.ok()) << steps.error().text();
  ASSERT_EQ(steps->size(), 1U);
  EXPECT_EQ((*steps)[0].node, "n1");
  EXPECT_EQ(g.nodes().size(), 1U);
  EXPECT_EQ(g.node(g.nodes()[0]).input(0), *g.find_value("x"));
}

TEST(Rewrite, StopsAfterTheStepsAskedFor) {
  Graph g = parse(kChain);
  const Rule rules[] = {{"cancel_double_negation", cancel_double_negation}};
  ASSERT_TRUE(rewrite(g, rules, {.max_steps = 0, .log = {}}).ok());
  EXPECT_TRUE(g.find_node("n1"));
}

TEST(Rewrite, NamesARuleThatDoesNotConverge) {
  Graph g = parse(kChain);
  const Rule rules[] = {{"grow_forever", grow_forever}};
  const auto steps = rewrite(g, rules);
  ASSERT_FALSE(steps.ok());
  EXPECT_NE(steps.error().text().find("pass grow_forever"), std::string::npos);
  EXPECT_NE(steps.error().text().find("does not converge"), std::string::npos);
}

TEST(Patch, NewNodesCarryTheirOriginAndTheOldName) {
  Graph g = parse(kChain);
  Patch p(g, "test", Exactness::kExact);
  const Node& old = g.node(*g.find_node("n2"));
  p.from(old).replace(old.outputs[0], p.emit("Relu", {old.input(0)}, {}, "fresh"));
  const auto made = p.apply(g);
  ASSERT_TRUE(made.ok()) << made.error().text();
  g.remove_dead();
  EXPECT_TRUE(verify(g).ok());
  const Node& node = g.node(made->front());
  EXPECT_EQ(node.origin, (std::vector<std::string>{"n2"}));
  EXPECT_EQ(g.value(g.outputs()[0]).name, "c");
  EXPECT_EQ(g.producer(g.outputs()[0])->name, "fresh");
}

} // namespace
} // namespace octet

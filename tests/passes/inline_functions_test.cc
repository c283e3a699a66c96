// SPDX-License-Identifier: Apache-2.0
// Calls of local functions become nodes. inline_functions_numbers.py compares the outputs of models
// before and after by ONNX Runtime.
#include <cstdlib>
#include <filesystem>

#include "graph/label.h"
#include "graph/verify.h"
#include "onnx/schema.h"
#include "onnx/wire.h"
#include <gtest/gtest.h>

#include "octet/graph_text.h"
#include "octet/onnx.h"
#include "octet/passes.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
namespace pb = onnx;

pb::Encoder node(std::string_view domain,
                 std::string_view type,
                 const std::vector<std::string>& in,
                 const std::vector<std::string>& out) {
  pb::Encoder n;
  for (const std::string& name : in)
    n.bytes(pb::node_proto::kInput, name);
  for (const std::string& name : out)
    n.bytes(pb::node_proto::kOutput, name);
  n.bytes(pb::node_proto::kOpType, type);
  n.text(pb::node_proto::kDomain, domain);
  return n;
}

LocalFunction function(const std::string& name,
                       const std::vector<std::string>& in,
                       const std::vector<std::string>& out,
                       const std::vector<pb::Encoder>& nodes,
                       int64_t opset = 17) {
  pb::Encoder f, version;
  f.bytes(pb::function::kName, name);
  f.bytes(pb::function::kDomain, "local");
  for (const std::string& i : in)
    f.bytes(pb::function::kInput, i);
  for (const std::string& o : out)
    f.bytes(pb::function::kOutput, o);
  for (const pb::Encoder& n : nodes)
    f.message(pb::function::kNode, n);
  version.bytes(pb::opset_id::kDomain, "");
  version.integer(pb::opset_id::kVersion, opset);
  f.message(pb::function::kOpsetImport, version);
  return {"local", name, "", f.str()};
}

/// y = local.NAME(x), with functions.
Graph calling(const std::string& name, std::vector<LocalFunction> functions) {
  Graph g;
  g.opsets = {{"", 17}, {"local", 1}};
  g.info.functions = std::move(functions);
  const ValueId x = g.add_input("x", tensor_type(DType::kFloat32, Shape{2}));
  const ValueId y = g.emit(name, {x}, {}, "call", "local");
  g.rename(y, "y");
  g.mark_output(y);
  return g;
}

std::string error_of(Graph g) {
  const Result<int> done = inline_functions(g);
  return done.ok() ? "no error" : done.error().text();
}

TEST(InlineFunctions, NestedCallsBecomeNodesAndTheFunctionsGo) {
  Graph g = calling("Outer", {function("Inner", {"a"}, {"b"}, {node("", "Relu", {"a"}, {"b"})}),
                              function("Outer", {"x"}, {"y"},
                                       {node("local", "Inner", {"x"}, {"t"}),
                                        node("", "Add", {"t", "x"}, {"y"})})});
  const Result<int> calls = inline_functions(g);
  ASSERT_TRUE(calls.ok()) << calls.error().text();
  EXPECT_EQ(*calls, 2);
  ASSERT_TRUE(verify(g).ok());
  EXPECT_TRUE(g.info.functions.empty());
  EXPECT_EQ(g.opset("local"), 0);
  const auto order = g.topological().value();
  ASSERT_EQ(order.size(), 2u);
  EXPECT_EQ(label(g, g.node(order[0])), "Relu \"call/Inner/Relu\"");
  EXPECT_EQ(label(g, g.node(order[1])), "Add \"call/Add\"");
  EXPECT_EQ(g.node(order[0]).origin, std::vector<std::string>{"call"});
  EXPECT_EQ(g.value(g.outputs()[0]).name, "y");
}

TEST(InlineFunctions, AnInputThatIsTheOutputGetsAnIdentity) {
  Graph g = calling("Pass", {function("Pass", {"a"}, {"a"}, {})});
  ASSERT_TRUE(inline_functions(g).ok());
  ASSERT_EQ(g.nodes().size(), 1u);
  EXPECT_TRUE(g.node(g.nodes()[0]).is("Identity"));
  EXPECT_EQ(g.value(g.outputs()[0]).name, "y");
}

TEST(InlineFunctions, RefusesRecursionGrowthAndOtherVersions) {
  const LocalFunction self = function("F", {"a"}, {"b"}, {node("local", "G", {"a"}, {"b"})});
  const LocalFunction back = function("G", {"a"}, {"b"}, {node("local", "F", {"a"}, {"b"})});
  EXPECT_NE(error_of(calling("F", {self, back})).find("calls itself"), std::string::npos);

  std::vector<LocalFunction> doubling = {
      function("F0", {"a"}, {"b"}, {node("", "Relu", {"a"}, {"b"})})};
  for (int i = 1; i < 40; ++i) {
    const std::string below = "F" + std::to_string(i - 1);
    doubling.push_back(
        function("F" + std::to_string(i), {"a"}, {"b"},
                 {node("local", below, {"a"}, {"t"}), node("local", below, {"t"}, {"b"})}));
  }
  EXPECT_NE(error_of(calling("F39", doubling)).find("more than"), std::string::npos);

  const Graph newer =
      calling("F", {function("F", {"a"}, {"b"}, {node("", "Relu", {"a"}, {"b"})}, 18)});
  EXPECT_NE(error_of(newer).find("version 18 of the operator set"), std::string::npos);
}

/// For inline_functions_numbers.py, which sets OCTET_INLINE to a folder with models to inline in
/// place; nothing to do without it.
TEST(InlineFunctions, InlinesTheModelsOfAFolder) {
  const char* folder = std::getenv("OCTET_INLINE");
  if (folder == nullptr) return;
  for (const auto& entry : fs::directory_iterator(folder)) {
    Result<Graph> g = load_onnx(entry.path());
    ASSERT_TRUE(g.ok()) << g.error().text();
    const Result<int> calls = inline_functions(*g);
    ASSERT_TRUE(calls.ok()) << entry.path() << ": " << calls.error().text();
    EXPECT_GT(*calls, 0) << entry.path();
    const Status saved = save_onnx(*g, entry.path(), {.overwrite = true});
    ASSERT_TRUE(saved.ok()) << saved.error().text();
  }
}

} // namespace
} // namespace octet

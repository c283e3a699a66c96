// SPDX-License-Identifier: Apache-2.0
// The weight store: the same bits as without one, on every instruction set; what is in the way of
// using one is said; and what is damaged gives an error or other numbers, no more.
#include <fstream>

#include "core/cpu.h"
#include "core/hash.h"
#include "core/released.h"
#include "graph/bodies.h"
#include "ops/infer.h"
#include "runtime/bert_graphs.h"
#include "runtime/layer_net.h"
#include "runtime/prepare.h"
#include "runtime/rows.h"
#include "runtime/store_format.h"
#include "runtime/stored.h"
#include "runtime/w1_graphs.h"
#include "runtime/weight_store.h"
#include "support/memory.h"

#include "octet/graph_text.h"
#include "octet/version.h"

namespace octet {
namespace {

using test::expect_stored_bits;
using test::LayerNet;
using test::StoredFiles;
using test::TemporaryFolder;

struct Model {
  std::string name;
  Graph graph;
  std::vector<Tensor> inputs;
};

Tensor floats(Philox& random, Shape shape) {
  Tensor t = Tensor::zeros(DType::kFloat32, std::move(shape)).value();
  for (float& v : t.mutable_data<float>())
    v = static_cast<float>(random.uniform(-1, 1));
  return t;
}

Attributes ints(std::initializer_list<std::pair<std::string, std::vector<int64_t>>> list) {
  Attributes out;
  for (const auto& [key, value] : list)
    out[key].value = value;
  return out;
}

/// Dense, grouped, narrow, depthwise, transposed.
Model convolutions() {
  LayerNet net(3);
  Philox random(4);
  const ValueId x = net.input({2, 24, 9, 11});
  const auto conv = [&](ValueId from, Shape weights, int64_t group, const char* op = "Conv") {
    Attributes a = ints({{"pads", {1, 1, 1, 1}}, {"strides", {1, 1}}});
    a["group"].value = group;
    return net.op(op, {from, net.constant(floats(random, std::move(weights)))}, a);
  };
  const ValueId y = conv(conv(conv(x, {40, 24, 3, 3}, 1), {40, 20, 3, 3}, 2), {40, 1, 3, 3}, 40);
  const ValueId z = conv(conv(y, {48, 5, 3, 3}, 8), {48, 12, 3, 3}, 2, "ConvTranspose");
  Graph graph = net.done({y, z});
  return {"convolutions", std::move(graph), {net.random_tensor({2, 24, 9, 11})}};
}

/// The same of codes.
Model code_convolutions() {
  LayerNet net(5);
  ValueId x = net.input({2, 16, 9, 11});
  const auto conv = [&](ValueId from, Shape weights, int64_t group, int64_t dilation) {
    Attributes a = ints({{"pads", {1, 1, 1, 1}}, {"dilations", {dilation, dilation}}});
    a["group"].value = group;
    return net.codes(net.op("Conv", {from, net.weights(std::move(weights), 0.01F)}, a),
                     {.scale = 0.1F});
  };
  x = net.codes(x, {});
  x = conv(x, {40, 16, 3, 3}, 1, 1);
  x = conv(x, {40, 1, 3, 3}, 40, 1);
  x = conv(x, {64, 20, 3, 3}, 2, 1);
  x = conv(x, {72, 64, 3, 3}, 1, 2);
  Graph graph = net.done({x});
  return {"code convolutions", std::move(graph), {net.random_tensor({2, 16, 9, 11})}};
}

/// Products of codes that are made when it runs.
Model dynamic_products() {
  LayerNet net(7);
  const ValueId x = net.input({3, 70});
  const std::vector<ValueId> codes = net.dynamic_codes(x);
  const ValueId zero = net.constant(Tensor::scalar<uint8_t>(200));
  const ValueId y =
      net.op("MatMulInteger", {codes[0], net.plain_codes({70, 90}, DType::kInt8), codes[2]});
  // Around 200: the weights fit int8 there.
  Tensor high = Tensor::zeros(DType::kUint8, {70, 90}).value();
  for (size_t i = 0; i < high.mutable_data<uint8_t>().size(); ++i)
    high.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(100 + i * 37 % 156);
  const ValueId z = net.op("MatMulInteger", {codes[0], net.constant(high), codes[2], zero});
  Attributes pads = ints({{"pads", {1, 1, 1, 1}}});
  const ValueId shape = net.constant(Tensor::of<int64_t>({4}, {1, 7, 6, 5}));
  const ValueId image = net.op("Reshape", {codes[0], shape});
  const ValueId w =
      net.op("ConvInteger", {image, net.plain_codes({70, 7, 3, 3}, DType::kInt8), codes[2]}, pads);
  Graph graph = net.done({y, z, w});
  return {"dynamic products", std::move(graph), {net.random_tensor({3, 70})}};
}

Model recurrent(const char* op, int64_t gates) {
  Philox random(11);
  Graph g;
  g.opsets[""] = 17;
  const int64_t hidden = 20, inputs = 30;
  const ValueId x = g.add_input("x", tensor_type(DType::kFloat32, Shape{5, 2, inputs}));
  const ValueId w = g.add_constant("w", floats(random, {2, gates * hidden, inputs}));
  const ValueId r = g.add_constant("r", floats(random, {2, gates * hidden, hidden}));
  Attributes a;
  a["hidden_size"].value = hidden;
  a["direction"].value = std::string("bidirectional");
  g.mark_output(g.emit(op, {x, w, r}, a, op));
  return {op, std::move(g), {floats(random, {5, 2, inputs})}};
}

/// Weights in the branches of If and the body of Loop; one is shared by both branches and the graph
/// around them, one is captured.
Model bodies() {
  Philox random(13);
  Graph g;
  g.opsets[""] = 17;
  const TypeInfo type = tensor_type(DType::kFloat32, Shape{2, 48});
  const ValueId x = g.add_input("x", type);
  const ValueId c = g.add_input("c", tensor_type(DType::kBool, Shape{}));
  const Tensor shared = floats(random, {48, 48});
  const ValueId outer = g.add_constant("outer", floats(random, {48, 48}));
  const auto branch = [&](const std::string& name) {
    Graph b;
    b.opsets = g.opsets;
    b.name = name;
    const ValueId in = b.add_capture("x", x, type);
    const ValueId captured = b.add_capture("outer", outer, g.value(outer).type);
    ValueId y = b.emit("MatMul", {in, b.add_constant(name + "_w", floats(random, {48, 48}))}, {},
                       name + "_own");
    y = b.emit("MatMul", {y, b.add_constant(name + "_s", shared)}, {}, name + "_shared");
    y = b.emit("MatMul", {y, captured}, {}, name + "_captured");
    b.mark_output(y);
    return std::make_shared<Graph>(std::move(b));
  };
  Node node;
  node.name = "if";
  node.op_type = "If";
  node.inputs = {c};
  node.outputs = {g.add_value("y", type)};
  node.captures = {x, outer};
  node.attributes["then_branch"].value = GraphPtr(branch("then"));
  node.attributes["else_branch"].value = GraphPtr(branch("else"));
  const ValueId y = node.outputs[0];
  g.add_node(std::move(node));
  g.mark_output(y);
  g.mark_output(g.emit("MatMul", {y, g.add_constant("s", shared)}, {}, "after"));
  return {"bodies", std::move(g), {floats(random, {2, 48}), Tensor::scalar(true)}};
}

/// A table that is looked up and, turned, multiplied with: its bytes stay beside its pack.
Model tied_table() {
  Philox random(17);
  Graph g;
  g.opsets[""] = 17;
  const ValueId index = g.add_input("index", tensor_type(DType::kInt64, Shape{3}));
  const ValueId table = g.add_constant("table", floats(random, {200, 32}));
  const ValueId rows = g.emit("Gather", {table, index}, {}, "rows");
  Attributes perm = ints({{"perm", {1, 0}}});
  const ValueId turned = g.emit("Transpose", {table}, perm, "turned");
  g.mark_output(g.emit("MatMul", {rows, turned}, {}, "scores"));
  const ValueId places =
      g.add_constant("places", Tensor::of<int64_t>({2, 3}, {0, 5, 7, 1, 2, 199}));
  g.mark_output(g.emit("Gather", {table, places}, {}, "constant_rows"));
  return {"tied table", std::move(g), {Tensor::of<int64_t>({3}, {0, 199, 7})}};
}

std::vector<Model> models() {
  std::vector<Model> out;
  Philox random(1);
  for (const auto form :
       {test::QdqForm::kTensorRt, test::QdqForm::kOnnxRuntime, test::QdqForm::kUint8})
    out.push_back({"W1", test::W1Builder(form).build(), {floats(random, {3, 1, 28, 28})}});
  for (const bool quantized : {false, true})
    out.push_back({quantized ? "BERT int8" : "BERT",
                   test::BertBuilder({.quantized = quantized, .heads = 4, .inner = 96}).build(),
                   test::random_tokens(2, 9, 3)});
  out.push_back(convolutions());
  out.push_back(code_convolutions());
  out.push_back(dynamic_products());
  out.push_back(recurrent("LSTM", 4));
  out.push_back(recurrent("GRU", 3));
  out.push_back(bodies());
  out.push_back(tied_table());
  return out;
}

TEST(Store, GivesTheBitsOfASessionThatPacks) {
  for (const Model& model : models()) {
    SCOPED_TRACE(model.name);
    for (const Isa isa : known_isas())
      if (isa_supported(isa)) expect_stored_bits(model.graph, model.inputs, isa);
  }
}

int64_t large_constants(const Graph& graph, bool released) {
  int64_t count = 0;
  for (const ValueId v : graph.constants()) {
    const Tensor& t = graph.value(v).constant;
    count += t.bytes().size() >= 4096 && is_released(t) == released ? 1 : 0;
  }
  for (const NodeId id : graph.nodes())
    for (const Body& body : bodies_of(graph.node(id)))
      count += large_constants(*body.graph, released);
  return count;
}

TEST(Store, HoldsNoWeightsBesideTheirPacks) {
  for (const Model& model :
       {convolutions(), code_convolutions(), dynamic_products(), recurrent("GRU", 3), bodies()}) {
    SCOPED_TRACE(model.name);
    const StoredFiles files(model.graph, default_isa());
    const Session session = Session::open(files.pack).value();
    EXPECT_EQ(large_constants(session.lowered(), false), 0);
    EXPECT_GT(large_constants(session.lowered(), true), 0);
  }
}

/// Those in bodies are known once they are prepared.
enum class Types { kKnown, kOpen };

void expect_same_graph(const Graph& got, const Graph& want, Types types = Types::kKnown) {
  const auto order = want.topological().value();
  const auto nodes = got.nodes();
  ASSERT_EQ(nodes.size(), order.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node &a = got.node(nodes[i]), &b = want.node(order[i]);
    EXPECT_EQ(a.origin, b.origin);
    EXPECT_EQ(a.op_type, b.op_type);
    for (size_t k = 0; k < b.outputs.size(); ++k) {
      if (!b.outputs[k].valid()) continue;
      const Value &have = got.value(a.outputs[k]), &said = want.value(b.outputs[k]);
      EXPECT_EQ(have.name, said.name);
      if (types == Types::kKnown) {
        EXPECT_EQ(have.type.text(), said.type.text());
      }
    }
    const auto in_a = bodies_of(a), in_b = bodies_of(b);
    ASSERT_EQ(in_a.size(), in_b.size());
    for (size_t k = 0; k < in_a.size(); ++k)
      expect_same_graph(*in_a[k].graph, *in_b[k].graph, Types::kOpen);
  }
}

TEST(Store, SaysTheLoweredGraphAgain) {
  for (const Model& model : models()) {
    SCOPED_TRACE(model.name);
    const Graph graph = runtime::ready_graph(model.graph, {}).value();
    const runtime::PackRecorder nothing;
    const TemporaryFolder folder;
    const Status written =
        runtime::write_store({&graph, &nothing, Isa::kScalar, {{.name = "model.onnx"}}},
                             folder / "pack", Overwrite::kNo);
    ASSERT_TRUE(written.ok()) << written.error().text();
    const auto stored =
        runtime::StoredModel::read(Buffer::map(folder / "pack").value(), {1}).value();
    // Nodes are written producers first.
    const std::string bytes = serialize_onnx(graph).value();
    const Graph sorted = parse_onnx(Buffer::borrow(std::as_bytes(std::span(bytes)))).value();
    EXPECT_EQ(stored.graph().content_hash(), sorted.content_hash());
    Graph got = stored.graph(), want = graph; // types that operators tell are not stored
    ASSERT_TRUE(infer(got).ok() && infer(want).ok());
    expect_same_graph(got, want);
  }
}

/// 16 products [1, 512] by [512, 512] of f32, 1 MB each.
Model layers() {
  Philox random(19);
  Graph g;
  g.opsets[""] = 17;
  ValueId x = g.add_input("x", tensor_type(DType::kFloat32, Shape{1, 512}));
  for (int i = 0; i < 16; ++i)
    x = g.emit("MatMul", {x, g.add_constant("w" + std::to_string(i), floats(random, {512, 512}))},
               {}, "product" + std::to_string(i));
  g.mark_output(x);
  return {"layers", std::move(g), {floats(random, {1, 512})}};
}

constexpr int64_t kMegabyte = int64_t{1} << 20;

TEST(Store, SessionsSayWhatTheyTake) {
  const Model model = layers();
  const StoredFiles files(model.graph, default_isa());
  Session packing = Session::create(model.graph, {.threads = 1}).value();
  Session stored = Session::open(files.model, {.threads = 1}).value();
  EXPECT_EQ(packing.memory().mapped, 0);
  EXPECT_GE(packing.memory().packed, 16 * kMegabyte);
  EXPECT_LE(packing.memory().packed, 17 * kMegabyte);
  EXPECT_EQ(stored.memory().mapped, static_cast<int64_t>(std::filesystem::file_size(files.pack)));
  EXPECT_LE(stored.memory().mapped, 17 * kMegabyte);
  EXPECT_LE(stored.memory().packed, kMegabyte / 4);
  EXPECT_LE(stored.memory().constants, 4096);
  EXPECT_EQ(stored.memory().arenas, 0);
  {
    SessionContext one = stored.context(), two = stored.context();
    ASSERT_TRUE(one.run(model.inputs).ok() && two.run(model.inputs).ok());
    EXPECT_EQ(stored.memory().arenas, static_cast<int64_t>(one.arena_bytes() + two.arena_bytes()));
  }
  EXPECT_EQ(stored.memory().arenas, 0);
}

/// What is private to the process beside the arena, and what is shared with whoever maps the file.
TEST(Store, WeightsAreNoMemoryOfTheProcess) {
  if (test::kSanitized) GTEST_SKIP() << "the sanitizers keep memory that was given back";
  const Model model = layers();
  const StoredFiles files(model.graph, default_isa());
  const int64_t growth = test::peak_growth([&] {
    const int64_t before = test::status_bytes("RssAnon");
    Session session = Session::open(files.pack, {.threads = 1}).value();
    if (!session.run(model.inputs).ok()) return false;
    return test::status_bytes("RssAnon") - before <= 2 * kMegabyte;
  });
  EXPECT_GE(growth, 0) << "16 MB of weights take private memory";
}

/// Sessions of one store share what they make of its fields.
TEST(Store, SessionsShareAStore) {
  const Model model = layers();
  const StoredFiles files(model.graph, default_isa());
  Session one = Session::open(files.pack).value(), two = Session::open(files.pack).value();
  Session packing = Session::create(model.graph).value();
  const auto want = packing.run(model.inputs).value();
  EXPECT_TRUE(one.run(model.inputs).value()[0].identical(want[0]));
  EXPECT_TRUE(two.run(model.inputs).value()[0].identical(want[0]));
  // A graph that outlives its session holds on to the file.
  Graph kept = Session::open(files.pack).value().lowered();
  EXPECT_GT(kept.content_hash(), 0U);
}

} // namespace
} // namespace octet

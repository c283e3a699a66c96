// SPDX-License-Identifier: Apache-2.0
// Shapes that depend on data, bodies, and strings in the native executor: what comes out is what the
// reference executor makes of the lowered graph, bit for bit, run after run with other extents.
#include <cmath>
#include <map>

#include "core/cpu.h"
#include "passes/lower/lower.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"
#include "octet/passes.h"
#include "octet/session.h"

namespace octet {
namespace {

using Inputs = std::vector<Tensor>;

Tensor wave(Shape shape, float step = 0.37F) {
  const int64_t count = element_count(shape).value();
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(std::sin(step * static_cast<float>(i + 1)));
  return Tensor::of<float>(std::move(shape), values);
}

template <class T>
Tensor list(std::vector<T> values) {
  const auto count = static_cast<int64_t>(values.size());
  return Tensor::of<T>({count}, values);
}

/// `const NAME: f32[ROWS, COLUMNS] = [...]`.
std::string matrix(const std::string& name, int rows, int columns) {
  std::string out =
      "const " + name + ": f32[" + std::to_string(rows) + ", " + std::to_string(columns) + "] = [";
  for (int i = 0; i < rows * columns; ++i)
    out += (i == 0 ? "" : ", ") + std::to_string((i * 7 % 11 - 5) * 0.125);
  return out + "]\n";
}

struct ExtentCase {
  std::string name;
  std::string text;
  std::vector<Inputs> feeds;
  std::string kernel = {}; ///< that must take part, in a body or behind data
};

/// Each step leaves out what the one before made zero.
std::string chain(int steps) {
  std::string out = "input x0: f32[N]\nconst c: f32[1] = [0.1]\nconst a: i64[1] = [0]\n";
  for (int i = 0; i < steps; ++i) {
    const std::string k = std::to_string(i);
    out += "d" + k + " = Sub(x" + k + ", c)\nr" + k + " = Relu(d" + k + ")\nn" + k +
           " = NonZero(r" + k + ")\ni" + k + " = Squeeze(n" + k + ", a)\nx" +
           std::to_string(i + 1) + " = Gather(r" + k + ", i" + k + ")\n";
  }
  return out + "y = Neg(x" + std::to_string(steps) + ")\noutput y: f32[*]\noutput i2: i64[7]\n";
}

std::vector<ExtentCase> extents_of_data() {
  const Inputs some = {wave({5, 16}), list<float>({1, 0, 2, 0, 3})};
  const Inputs none = {wave({5, 16}), list<float>({0, 0, 0, 0, 0})};
  const Inputs more = {wave({7, 16}), list<float>({1, 1, 0, 1, 1, 1, 1})};
  return {
      {"rows that NonZero picks, then a product",
       "input x: f32[N, 16]\ninput m: f32[N]\nconst a: i64[1] = [0]\n" + matrix("w", 16, 8) +
           "i = NonZero(m)\nj = Squeeze(i, a)\ng = Gather(x, j)\np = MatMul(g, w)\ny = Relu(p)\n"
           "output y: f32[*]\noutput i: i64[1, 4]\noutput x: f32[N, 16]\noutput y: f32[*]\n",
       {some, none, more, some}},
      {"two of them and what both make",
       "input x: f32[N, 16]\ninput m: f32[N]\ni = NonZero(m)\nk = NonZero(x)\n"
       "s = Shape(i)\nt = Shape(k)\nu = Concat(s, t) {axis=0}\nn = Neg(x)\n"
       "output u: i64[*]\noutput n: f32[*]\n",
       {some, more}},
      {"a range that data ends",
       "input n: i64[]\nconst a: i64[] = [0]\nconst b: i64[] = [1]\nr = Range(a, n, b)\n"
       "f = Cast(r) {to=1}\ny = Mul(f, f)\noutput y: f32[*]\noutput r: i64[3]\n",
       {{Tensor::scalar<int64_t>(5)}, {Tensor::scalar<int64_t>(0)}, {Tensor::scalar<int64_t>(9)}}},
      {"shapes that are inputs",
       "input x: f32[4, 6]\ninput s: i64[2]\nr = Reshape(x, s)\ny = Softmax(r)\nz = Reshape(y, s)\n"
       "t = Transpose(z) {perm=[1, 0]}\noutput t: f32[*]\noutput r: f32[6, 4]\n",
       {{wave({4, 6}), list<int64_t>({2, 12})},
        {wave({4, 6}), list<int64_t>({3, -1})},
        {wave({4, 6}), list<int64_t>({0, 6})},
        {wave({4, 6}), list<int64_t>({2, 12})}}},
      {"Expand, Tile and Slice by data",
       "input x: f32[1, 6]\ninput s: i64[2]\ninput b: i64[1]\ninput e: i64[1]\n"
       "const a: i64[1] = [1]\np = Expand(x, s)\nq = Tile(p, s)\nr = Slice(q, b, e, a)\n"
       "y = Neg(r)\noutput y: f32[*]\n",
       {{wave({1, 6}), list<int64_t>({3, 6}), list<int64_t>({1}), list<int64_t>({9})},
        {wave({1, 6}), list<int64_t>({2, 1}), list<int64_t>({-4}), list<int64_t>({100})},
        {wave({1, 6}), list<int64_t>({2, 1}), list<int64_t>({4}), list<int64_t>({2})}}},
      {"k of TopK",
       "input x: f32[3, 6]\ninput k: i64[1]\nv, i = TopK(x, k)\ny = Neg(v)\noutput y: f32[*]\n"
       "output i: i64[*]\n",
       {{wave({3, 6}), list<int64_t>({2})}, {wave({3, 6}), list<int64_t>({6})}}},
      {"Unique and Compress",
       "input x: f32[6]\ninput c: bool[6]\np = Compress(x, c)\nu, a, b, d = Unique(p)\n"
       "y = Add(u, u)\noutput y: f32[*]\noutput d: i64[*]\noutput p: f32[*]\n",
       {{list<float>({3, 1, 3, 2, 2, 3}),
         Tensor::of<bool>({6}, {true, true, true, true, true, true})},
        {list<float>({3, 1, 3, 2, 2, 3}),
         Tensor::of<bool>({6}, {true, false, true, false, false, false})}}},
      {"boxes",
       "input b: f32[1, 4, 4]\ninput s: f32[1, 1, 4]\nconst n: i64[] = [3]\n"
       "const o: f32[] = [0.5]\nconst t: f32[] = [0.0]\ni = NonMaxSuppression(b, s, n, o, t)\n"
       "f = Cast(i) {to=1}\ny = Neg(f)\noutput y: f32[*]\n",
       {{Tensor::of<float>({1, 4, 4}, {0, 0, 1, 1, 0, 0.1F, 1, 1.1F, 5, 5, 6, 6, 9, 9, 10, 10}),
         Tensor::of<float>({1, 1, 4}, {0.9F, 0.8F, 0.7F, -1})},
        {Tensor::of<float>({1, 4, 4}, {0, 0, 1, 1, 0, 0.1F, 1, 1.1F, 5, 5, 6, 6, 9, 9, 10, 10}),
         Tensor::of<float>({1, 1, 4}, {-1, -1, -1, -1})}}},
      {"extents that depend on extents that depend on data",
       chain(12),
       {{wave({20})}, {wave({50}, 0.1F)}, {wave({0})}, {wave({20})}, {wave({20}, 0.9F)}}},
      {"ends of ranges that shapes tell, in floats",
       "input x: f32[N, M]\nconst a: f32[] = [0.0]\nconst b: f32[] = [1.0]\nconst h: i64[] = [1]\n"
       "s = Shape(x)\ng = Gather(s, h)\nf = Cast(g) {to=1}\nr = Range(a, f, b)\ny = Mul(x, r)\n"
       "output y: f32[N, M]\noutput r: f32[M]\n",
       {{wave({2, 5})}, {wave({3, 8})}, {wave({2, 0})}, {wave({2, 5})}}},
      {"a size that arithmetic on data gives",
       "input x: f32[2, 12]\ninput n: f32[1]\nconst h: f32[1] = [0.5]\nconst m: i64[1] = [-1]\n"
       "f = Mul(n, h)\ng = Floor(f)\nc = Cast(g) {to=7}\ns = Concat(c, m) {axis=0}\n"
       "r = Reshape(x, s)\nd = Shape(r)\ny = Softmax(r)\nz = Expand(y, d)\noutput z: f32[*]\n"
       "output d: i64[*]\n",
       {{wave({2, 12}), list<float>({6.5F})}, {wave({2, 12}), list<float>({9})}}},
  };
}

std::vector<ExtentCase> bodies() {
  const Tensor yes = Tensor::scalar<bool>(true), no = Tensor::scalar<bool>(false);
  const auto trips = [](int64_t n) { return Tensor::scalar<int64_t>(n); };
  return {
      {"branches with products",
       "input c: bool[]\ninput x: f32[N, 16]\n" + matrix("w", 16, 8) + matrix("v", 16, 8) +
           "h = Neg(x)\ny = If(c) {then_branch={ graph a\n  capture h: f32[N, 16]\n"
           "  capture w: f32[16, 8]\n  p = MatMul(h, w)\n  t = Relu(p)\n  output t: f32[N, 8]\n"
           "}, else_branch={ graph b\n  capture x: f32[N, 16]\n  capture v: f32[16, 8]\n"
           "  u = MatMul(x, v)\n  output u: f32[N, 8]\n}}\nz = Neg(y)\noutput z: f32[N, 8]\n",
       {{yes, wave({3, 16})}, {no, wave({3, 16})}, {no, wave({5, 16})}, {yes, wave({3, 16})}},
       "sgemm"},
      {"branches of other shapes, and types that are declared otherwise",
       "input c: bool[]\ninput x: f32[4, 6]\ny = If(c) {then_branch={ graph a\n"
       "  capture x: f32[4, 6]\n  t = Transpose(x) {perm=[1, 0]}\n  output t: f32[9, 9, 9]\n"
       "}, else_branch={ graph b\n  capture x: f32[4, 6]\n  const s: i64[1] = [24]\n"
       "  u = Reshape(x, s)\n  output u: f32[24]\n}}\nz = Exp(y)\noutput z: f32[*]\n",
       {{yes, wave({4, 6})}, {no, wave({4, 6})}}},
      {"a loop that carries, collects and captures",
       "input n: i64[]\ninput x: f32[2, 8]\nconst c: bool[] = [1]\n" + matrix("w", 8, 8) +
           "g = Neg(x)\ny, s = Loop(n, c, x) {body={ graph b\n  input i: i64[]\n  input d: bool[]\n"
           "  input v: f32[1, 1]\n  capture g: f32[2, 8]\n  capture w: f32[8, 8]\n"
           "  p = MatMul(v, w)\n  q = Add(p, g)\n  o = Tanh(q)\n  e = Identity(d)\n"
           "  output e: bool[]\n  output o: f32[2, 8]\n  output p: f32[3]\n}}\nz = Neg(s)\n"
           "output y: f32[*]\noutput z: f32[*]\n",
       {{trips(3), wave({2, 8})},
        {trips(1), wave({2, 8})},
        {trips(0), wave({2, 8})},
        {trips(4), wave({2, 8})}},
       "sgemm"},
      {"a loop that takes no turn and whose body would not fit",
       "input n: i64[]\ninput x: f32[A, B]\nconst c: bool[] = [1]\n" + matrix("w", 4, 4) +
           "y, s = Loop(n, c, x) {body={ graph b\n  input i: i64[]\n  input d: bool[]\n"
           "  input v: f32[*]\n  capture w: f32[4, 4]\n  o = MatMul(v, w)\n  p = Relu(o)\n"
           "  e = Identity(d)\n  output e: bool[]\n  output o: f32[*]\n  output p: f32[*]\n}}\n"
           "z = Neg(y)\nt = Neg(s)\noutput z: f32[*]\noutput t: f32[*]\n",
       {{trips(0), wave({2, 3})}, {trips(2), wave({2, 4})}, {trips(0), wave({5, 3})}}},
      {"a loop whose value grows",
       "input n: i64[]\ninput x: f32[1, 3]\nconst c: bool[] = [1]\ny = Loop(n, c, x) {body={ graph "
       "b\n"
       "  input i: i64[]\n  input d: bool[]\n  input v: f32[*]\n"
       "  o = Concat(v, v) {axis=0}\n  e = Identity(d)\n  output e: bool[]\n  output o: "
       "f32[*]\n}}\n"
       "z = Neg(y)\noutput z: f32[*]\n",
       {{trips(3), wave({1, 3})}, {trips(0), wave({1, 3})}, {trips(2), wave({1, 3})}}},
      {"a scan",
       "input h: f32[1, 8]\ninput x: f32[T, 1, 8]\n" + matrix("w", 8, 8) +
           "y, s = Scan(h, x) {num_scan_inputs=1, body={ graph b\n  input a: f32[1, 8]\n"
           "  input e: f32[1, 8]\n  capture w: f32[8, 8]\n  p = MatMul(a, w)\n  q = Add(p, e)\n"
           "  o = Tanh(q)\n  k = Identity(o)\n  output o: f32[1, 8]\n  output k: f32[1, 8]\n}}\n"
           "output y: f32[1, 8]\noutput s: f32[T, 1, 8]\n",
       {{wave({1, 8}), wave({4, 1, 8}, 0.2F)}, {wave({1, 8}), wave({6, 1, 8}, 0.2F)}},
       "sgemm"},
      {"a branch in a loop, and extents of data in it",
       "input n: i64[]\ninput x: f32[6]\nconst c: bool[] = [1]\n"
       "y = Loop(n, c, x) {body={ graph b\n  input i: i64[]\n  input d: bool[]\n"
       "  input v: f32[*]\n  capture x: f32[6]\n  const two: i64[] = [2]\n"
       "  m = Mod(i, two)\n  f = Cast(m) {to=9}\n"
       "  o = If(f) {then_branch={ graph t\n    capture v: f32[*]\n    k = NonZero(v)\n"
       "    const a: i64[1] = [0]\n    j = Squeeze(k, a)\n    g = Gather(v, j)\n    output g: "
       "f32[*]\n"
       "  }, else_branch={ graph u\n    capture v: f32[*]\n    capture x: f32[6]\n"
       "    r = Concat(v, x) {axis=0}\n    q = Relu(r)\n    output q: f32[*]\n  }}\n"
       "  e = Identity(d)\n  output e: bool[]\n  output o: f32[*]\n}}\noutput y: f32[*]\n",
       {{trips(3), wave({6})}, {trips(2), wave({6}, 2)}, {trips(1), wave({6})}}},
  };
}

std::vector<ExtentCase> strings() {
  const Tensor a = Tensor::strings({3}, {"a", "bb", ""}).value();
  const Tensor b = Tensor::strings({3}, {"x", "y", "z"}).value();
  return {
      {"strings",
       "input a: string[3]\ninput b: string[3]\nc = StringConcat(a, b)\nconst s: i64[2] = [3, 1]\n"
       "r = Reshape(c, s)\nd = Identity(r)\noutput d: string[3, 1]\noutput a: string[3]\n",
       {{a, b}, {b, a}}},
      {"strings split into as many as there are",
       "input a: string[2]\nc, n = StringSplit(a) {delimiter=\",\"}\nf = Cast(n) {to=1}\ng = "
       "Neg(f)\n"
       "output c: string[*]\noutput g: f32[*]\n",
       {{Tensor::strings({2}, {"a,b", "c"}).value()},
        {Tensor::strings({2}, {"a,b,d,e", "c"}).value()}}},
  };
}

void expect_equal_bits(const std::vector<Tensor>& have, const std::vector<Tensor>& want) {
  ASSERT_EQ(have.size(), want.size());
  for (size_t i = 0; i < have.size(); ++i) {
    EXPECT_EQ(to_string(have[i].shape()), to_string(want[i].shape())) << "output " << i;
    EXPECT_TRUE(have[i].identical(want[i])) << "output " << i;
  }
}

std::vector<Tensor> outputs_of_stream(Session& session, const Inputs& inputs, size_t outputs) {
  std::vector<Tensor> out(outputs);
  const Status status = session.stream(inputs, [&](size_t index, const Tensor& t) {
    EXPECT_TRUE(out[index].empty());
    out[index] = t.clone();
    return ok_status();
  });
  EXPECT_TRUE(status.ok()) << status.error().text();
  return out;
}

void run_case(const ExtentCase& c) {
  SCOPED_TRACE(c.name);
  const auto graph = parse_graph("graph g opset(\"\"=20)\n" + c.text);
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  for (const Isa isa : known_isas()) {
    if (!isa_supported(isa)) continue;
    for (const int threads : {1, 2}) {
      for (const bool lowered : {true, false}) {
        auto session = Session::create(*graph, {.threads = threads,
                                                .isa = std::string(isa_name(isa)),
                                                .lower = lowered,
                                                .keep_weights = true});
        ASSERT_TRUE(session.ok()) << session.error().text();
        const auto reference = make_reference_executor(session->lowered()).value();
        for (const Inputs& feed : c.feeds) {
          const auto want = reference->run(feed);
          ASSERT_TRUE(want.ok()) << want.error().text() << print(session->lowered());
          const auto have = session->run(feed);
          ASSERT_TRUE(have.ok()) << have.error().text() << print(session->lowered());
          expect_equal_bits(*have, *want);
          expect_equal_bits(outputs_of_stream(*session, feed, want->size()), *want);
        }
        if (!lowered || c.kernel.empty()) continue;
        std::string plan;
        for (const PlannedNode& node : session->plan())
          plan += node.node + ": " + node.kernel + " " + node.why + "\n";
        EXPECT_NE(plan.find(c.kernel), std::string::npos) << plan;
      }
    }
  }
  // What the file means is what runs.
  auto session = Session::create(*graph).value();
  const auto literal = make_reference_executor(*graph).value();
  for (const Inputs& feed : c.feeds) {
    const auto want = literal->run(feed), have = session.run(feed);
    ASSERT_TRUE(want.ok()) << want.error().text();
    ASSERT_TRUE(have.ok()) << have.error().text();
    for (size_t i = 0; i < want->size(); ++i)
      EXPECT_EQ(to_string((*have)[i].shape()), to_string((*want)[i].shape()));
  }
}

TEST(ExtentsOfData, NativeEqualsReference) {
  for (const ExtentCase& c : extents_of_data())
    run_case(c);
}

TEST(Bodies, NativeEqualsReference) {
  for (const ExtentCase& c : bodies())
    run_case(c);
}

TEST(Strings, NativeEqualsReference) {
  for (const ExtentCase& c : strings())
    run_case(c);
}

std::string kernel_of(const std::vector<PlannedNode>& plan, std::string_view node) {
  for (const PlannedNode& each : plan)
    if (each.node.find(node) != std::string::npos) return each.kernel;
  return "none";
}

/// What is chosen once sizes are known is what a context says of its last run, in bodies too.
TEST(ExtentsOfData, ThePlanOfAContextSaysWhatRan) {
  const auto graph = parse_graph(
      "graph g opset(\"\"=17)\ninput x: f32[N, 6]\ninput e: i64[1]\ninput c: bool[]\n"
      "const a: i64[1] = [0]\nconst d: i64[1] = [1]\ns = Slice(x, a, e, d) \"cut\"\n"
      "y = If(c) {then_branch={ graph t\n  capture x: f32[N, 6]\n  capture e: i64[1]\n"
      "  const b: i64[1] = [1]\n  const f: i64[1] = [0]\n  u = Slice(x, b, e, f) \"inner\"\n"
      "  output u: f32[*]\n}, else_branch={ graph f\n  capture x: f32[N, 6]\n  v = Neg(x)\n"
      "  output v: f32[*]\n}}\noutput s: f32[*]\noutput y: f32[*]\n");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  auto session = Session::create(*graph).value();
  EXPECT_EQ(kernel_of(session.plan(), "\"cut\""), "reference");
  SessionContext context = session.context();
  EXPECT_EQ(kernel_of(context.plan(), "\"cut\""), "reference");
  const Inputs inputs = {wave({4, 6}), list<int64_t>({3}), Tensor::scalar<bool>(true)};
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(context.run(inputs).ok());
    EXPECT_EQ(kernel_of(context.plan(), "\"cut\""), "copy");
    EXPECT_EQ(kernel_of(context.plan(), "\"inner\""), "copy");
    EXPECT_EQ(context.plan().size(), session.plan().size());
  }
}

/// Bounds that are others in each run, as those that follow a counter, make no new binding each time
/// once they did so often: neither by themselves nor in bodies.
TEST(ExtentsOfData, SmallResultsAtACounterAreBoundOnce) {
  const auto graph = parse_graph(
      "graph g opset(\"\"=17)\ninput x: f32[40, 6]\ninput b: i64[1]\nconst d: i64[1] = [1]\n"
      "const a: i64[1] = [0]\nconst n: i64[1] = [40]\nconst i: i64[] = [1]\nq = Add(b, d)\n"
      "e = Min(q, n)\ns = Slice(x, b, e, a)\nt = Neg(s)\nf = Squeeze(b)\nk = Squeeze(e)\n"
      "r = Range(f, k, i)\nm = Cast(r) {to=1}\nh = Slice(x, a, b, a)\no = Abs(h)\n"
      "output t: f32[*]\noutput m: f32[*]\noutput o: f32[*]\n");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  auto session = Session::create(*graph).value();
  const auto reference = make_reference_executor(*graph).value();
  SessionContext context = session.context();
  const auto run_at = [&](int64_t at) {
    const Inputs inputs = {wave({40, 6}), list<int64_t>({at})};
    const auto have = context.run(inputs);
    ASSERT_TRUE(have.ok()) << have.error().text();
    expect_equal_bits({have->begin(), have->end()}, reference->run(inputs).value());
  };
  for (int64_t at = 0; at < 10; ++at)
    run_at(3);
  const int64_t steady = context.plan_counts().bindings;
  EXPECT_EQ(steady, 2) << "one, and its rest";
  for (int64_t at = 4; at < 12; ++at)
    run_at(at);
  const int64_t moving = context.plan_counts().bindings;
  // What o has is another extent each time.
  for (int64_t at = 12; at < 30; ++at)
    run_at(at);
  EXPECT_EQ(context.plan_counts().bindings, moving + 18);
  for (int64_t round = 0; round < 5; ++round)
    for (int64_t at = 20; at < 24; ++at)
      run_at(at);
  EXPECT_LE(context.plan_counts().bindings, moving + 18 + 4);
  run_at(40);
  run_at(39);
}

TEST(ExtentsOfData, LargeResultsAtACounterGoByKernels) {
  const auto graph = parse_graph(
      "graph g opset(\"\"=17)\ninput x: f32[N, 600]\ninput b: i64[1]\ninput e: i64[1]\n"
      "const a: i64[1] = [0]\ns = Slice(x, b, e, a) \"cut\"\nt = Neg(s)\noutput t: f32[*]\n");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  auto session = Session::create(*graph).value();
  const auto reference = make_reference_executor(*graph).value();
  SessionContext context = session.context();
  for (int64_t at = 0; at < 24; ++at) {
    // Small ones first, then large ones.
    const Inputs inputs = {wave({64, 600}), list<int64_t>({at}),
                           list<int64_t>({at + (at < 8 ? 1 : 30)})};
    const auto have = context.run(inputs);
    ASSERT_TRUE(have.ok()) << have.error().text();
    expect_equal_bits({have->begin(), have->end()}, reference->run(inputs).value());
  }
  EXPECT_EQ(kernel_of(context.plan(), "\"cut\""), "copy");
}

/// An error leaves a session that runs.
TEST(ExtentsOfData, ThatDoNotFitAreErrors) {
  const auto graph = parse_graph("graph g opset(\"\"=17)\ninput x: f32[4, 6]\ninput s: i64[2]\n"
                                 "r = Reshape(x, s) \"shaped\"\ny = Exp(r)\noutput y: f32[*]\n");
  auto session = Session::create(*graph).value();
  const auto wrong = session.run(Inputs{wave({4, 6}), list<int64_t>({5, 5})});
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().text().find("shaped"), std::string::npos) << wrong.error().text();
  const auto negative = session.run(Inputs{wave({4, 6}), list<int64_t>({-3, 5})});
  EXPECT_FALSE(negative.ok());
  const auto right = session.run(Inputs{wave({4, 6}), list<int64_t>({8, 3})});
  ASSERT_TRUE(right.ok()) << right.error().text();
  EXPECT_EQ(right->at(0).shape(), (Shape{8, 3}));
}

} // namespace
} // namespace octet

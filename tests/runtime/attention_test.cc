// SPDX-License-Identifier: Apache-2.0
// Attention as one operator: which chains of a file become it, and that its bits are those of the
// steps apart, by the reference and on every instruction set.
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "runtime/layer_net.h"

#include "octet/graph_text.h"

namespace octet::attention_test {
namespace {

using test::count_lowered;
using test::expect_fused_bits;
using test::LayerNet;
using test::simplified;

enum class Mask { kNone, kKeys, kWhole, kMatrix, kCausal, kScalar, kCount };
enum class Scaling { kNone, kMul, kDiv, kQuery, kBehindMask, kCount };
enum class Heads { kMerged, kApart, kTogether, kCount };

/// softmax(q k^T) v of a file.
struct Attention {
  int64_t batch = 2, heads = 3, queries = 5, keys = 7, depth = 4, width = 6;
  Mask mask = Mask::kNone;
  Scaling scaling = Scaling::kMul;
  Heads form = Heads::kMerged;
  bool scores_on_codes = false, context_on_codes = false, result_on_codes = false;
  bool open = false;   ///< batch, queries and keys are symbols
  bool turned = false; ///< k is given as [.., D, N]
  DType codes = DType::kInt8;
};

std::string describe(const Attention& a) {
  std::string out;
  for (const int64_t v : {a.batch, a.heads, a.queries, a.keys, a.depth, a.width})
    out += std::to_string(v) + " ";
  return out + "mask " + std::to_string(static_cast<int>(a.mask)) + " scaling " +
         std::to_string(static_cast<int>(a.scaling)) + " form " +
         std::to_string(static_cast<int>(a.form)) + (a.scores_on_codes ? " scores" : "") +
         (a.context_on_codes ? " context" : "") + (a.result_on_codes ? " result" : "") +
         (a.open ? " open" : "") + (a.turned ? " turned" : "") +
         (a.codes == DType::kUint8 ? " u8" : "");
}

class Builder {
 public:
  Builder(const Attention& a, uint64_t seed) : a_(a), net_(seed) {}

  Graph build() {
    ValueId q = operand(a_.queries, "m", a_.depth, false);
    const ValueId k = operand(a_.keys, "n", a_.depth, true);
    ValueId v = operand(a_.keys, "n", a_.width, false);
    if (a_.scaling == Scaling::kQuery) q = net_.op("Mul", {q, scalar(0.7F)});
    ValueId p = net_.op("MatMul", {coded(q, a_.scores_on_codes), coded(k, a_.scores_on_codes)});
    if (a_.scaling == Scaling::kMul) p = net_.op("Mul", {p, scalar(0.35F)});
    if (a_.scaling == Scaling::kDiv) p = net_.op("Div", {p, scalar(2.8F)});
    p = masked(p);
    if (a_.scaling == Scaling::kBehindMask) p = net_.op("Mul", {scalar(0.3F), p});
    p = net_.op("Softmax", {p}, one("axis", -1));
    if (a_.context_on_codes) {
      p = net_.codes(
          p, {.scale = 1 / 127.0F, .zero = a_.codes == DType::kInt8 ? -3 : 11, .type = a_.codes});
      v = coded(v, true);
    }
    ValueId y = net_.op("MatMul", {p, v});
    if (a_.result_on_codes) y = net_.codes(y, {.scale = 0.05F, .zero = 2});
    if (a_.form == Heads::kMerged) {
      y = net_.op("Transpose", {y}, ints("perm", {0, 2, 1, 3}));
      y = net_.op("Reshape", {y, list({0, 0, -1})});
    }
    return net_.done({y});
  }

  std::vector<Tensor> inputs() {
    std::vector<Tensor> out;
    for (const Shape& shape : shapes_)
      out.push_back(net_.random_tensor(shape, 3));
    for (const size_t i : masks_) {
      auto values = out[i].mutable_data<float>();
      for (size_t k = 0; k < values.size(); ++k)
        if (values[k] > 2 && k % 3 != 0)
          values[k] = k % 2 == 0 ? -10000.0F : -std::numeric_limits<float>::infinity();
    }
    return out;
  }

 private:
  static Attributes ints(const char* key, std::vector<int64_t> values) {
    Attributes a;
    a[key].value = std::move(values);
    return a;
  }
  static Attributes one(const char* key, int64_t value) {
    Attributes a;
    a[key].value = value;
    return a;
  }
  ValueId list(std::vector<int64_t> v) {
    return net_.constant(Tensor::of<int64_t>({static_cast<int64_t>(v.size())}, v));
  }
  ValueId scalar(float v) { return net_.constant(Tensor::scalar(v)); }
  Dim dim(int64_t size, const char* symbol) const {
    return a_.open ? Dim::symbol(symbol) : Dim(size);
  }
  ValueId input(const std::vector<std::pair<int64_t, const char*>>& sizes) {
    std::vector<Dim> dims;
    Shape shape;
    for (const auto& [size, symbol] : sizes) {
      dims.push_back(symbol == nullptr ? Dim(size) : dim(size, symbol));
      shape.push_back(size);
    }
    shapes_.push_back(shape);
    return net_.input(dims);
  }
  ValueId coded(ValueId x, bool quantized) {
    const int64_t zero = a_.codes == DType::kInt8 ? 4 : 120;
    return quantized ? net_.codes(x, {.scale = 0.03F, .zero = zero, .type = a_.codes}) : x;
  }

  /// [.., size, columns], or [.., columns, size] for k.
  ValueId operand(int64_t size, const char* symbol, int64_t columns, bool is_k) {
    if (a_.form == Heads::kMerged) {
      const ValueId x = input({{a_.batch, "b"}, {size, symbol}, {a_.heads * columns, nullptr}});
      const ValueId split = net_.op("Reshape", {x, list({0, 0, a_.heads, columns})});
      return net_.op(
          "Transpose", {split},
          ints("perm", is_k ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 2, 1, 3}));
    }
    std::vector<std::pair<int64_t, const char*>> sizes = {{a_.batch, "b"}, {a_.heads, nullptr}};
    if (a_.form == Heads::kTogether) sizes = {{a_.batch * a_.heads, "b"}};
    sizes.emplace_back(size, symbol);
    sizes.emplace_back(columns, nullptr);
    if (is_k && a_.turned) std::swap(sizes.back(), *(sizes.end() - 2));
    const ValueId x = input(sizes);
    if (!is_k || a_.turned) return x;
    return net_.op("Transpose", {x},
                   ints("perm", sizes.size() == 3 ? std::vector<int64_t>{0, 2, 1}
                                                  : std::vector<int64_t>{0, 1, 3, 2}));
  }

  ValueId masked(ValueId p) {
    switch (a_.mask) {
    case Mask::kKeys:
      masks_.push_back(shapes_.size());
      return net_.op(
          "Add", {p, a_.form == Heads::kTogether
                         ? input({{a_.keys, "n"}})
                         : input({{a_.batch, "b"}, {1, nullptr}, {1, nullptr}, {a_.keys, "n"}})});
    case Mask::kWhole:
      masks_.push_back(shapes_.size());
      return net_.op(
          "Add", {a_.form == Heads::kTogether
                      ? input({{1, nullptr}, {a_.queries, "m"}, {a_.keys, "n"}})
                      : input({{a_.batch, "b"}, {1, nullptr}, {a_.queries, "m"}, {a_.keys, "n"}}),
                  p});
    case Mask::kMatrix:
      masks_.push_back(shapes_.size());
      return net_.op("Add", {p, input({{a_.queries, "m"}, {a_.keys, "n"}})});
    case Mask::kCausal: {
      Tensor t = Tensor::zeros(DType::kFloat32, {a_.queries, a_.keys}).value();
      auto values = t.mutable_data<float>();
      for (int64_t i = 0; i < a_.queries; ++i)
        for (int64_t j = i + 1; j < a_.keys; ++j)
          values[static_cast<size_t>(i * a_.keys + j)] = -1e9F;
      return net_.op("Add", {p, net_.constant(std::move(t))});
    }
    case Mask::kScalar:
      return net_.op("Add", {p, scalar(0.25F)});
    default:
      return p;
    }
  }

  Attention a_;
  LayerNet net_;
  std::vector<Shape> shapes_;
  std::vector<size_t> masks_; ///< inputs that are masks
};

std::string_view operator_of(const Attention& a) {
  return a.scores_on_codes || a.context_on_codes ? "QAttention" : "Attention";
}

void check(const Attention& a, uint64_t seed) {
  SCOPED_TRACE(describe(a));
  Builder builder(a, seed);
  const Graph graph = builder.build();
  EXPECT_EQ(count_lowered(simplified(graph), operator_of(a)), 1);
  EXPECT_EQ(count_lowered(simplified(graph), "Softmax"), 0);
  expect_fused_bits(graph, builder.inputs());
}

int transposes(const Graph& g) {
  const Lowered lowered = lower(simplified(g)).value();
  int count = 0;
  for (const NodeId id : lowered.graph.nodes())
    count += lowered.graph.node(id).is("Transpose") ? 1 : 0;
  return count;
}

TEST(Attention, AnyFormHasTheBitsOfItsSteps) {
  std::mt19937 random(7);
  const auto draw = [&](int64_t below) { return static_cast<int64_t>(random() % below); };
  const auto flip = [&] { return random() % 2 == 0; };
  for (int i = 0; i < 120; ++i) {
    Attention a{.batch = 1 + draw(3),
                .heads = 1 + draw(5),
                .queries = i % 5 == 0 ? 1 : 1 + draw(60),
                .keys = 1 + draw(i % 7 == 0 ? 300 : 70),
                .depth = 1 + draw(40),
                .width = 1 + draw(40),
                .mask = static_cast<Mask>(draw(static_cast<int64_t>(Mask::kCount))),
                .scaling = static_cast<Scaling>(draw(static_cast<int64_t>(Scaling::kCount))),
                .form = static_cast<Heads>(draw(static_cast<int64_t>(Heads::kCount))),
                .scores_on_codes = flip(),
                .context_on_codes = flip(),
                .result_on_codes = flip(),
                .open = flip(),
                .turned = flip(),
                .codes = flip() ? DType::kInt8 : DType::kUint8};
    if (a.mask == Mask::kCausal) a.open = false;
    if (i % 6 == 0) a.depth = a.width = 16 << draw(3); // whole tiles
    check(a, static_cast<uint64_t>(i));
  }
}

TEST(Attention, HeadsAreReadAndWrittenWhereTheyLie) {
  for (const bool codes : {false, true}) {
    const Attention a{.mask = Mask::kKeys,
                      .scores_on_codes = codes,
                      .context_on_codes = codes,
                      .result_on_codes = codes};
    EXPECT_EQ(transposes(Builder(a, 1).build()), 0);
  }
}

TEST(Attention, NothingToLookAt) {
  for (const bool codes : {false, true})
    for (const auto& [batch, queries, keys] :
         std::vector<std::array<int64_t, 3>>{{0, 3, 4}, {1, 0, 4}, {1, 3, 0}}) {
      const Attention a{.batch = batch,
                        .queries = queries,
                        .keys = keys,
                        .mask = Mask::kMatrix,
                        .scores_on_codes = codes,
                        .context_on_codes = codes,
                        .open = true};
      SCOPED_TRACE(describe(a));
      Builder builder(a, 3);
      const Graph graph = builder.build();
      expect_fused_bits(graph, builder.inputs());
    }
}

Graph parse(const std::string& body) {
  return parse_graph(R"(graph g opset(""=17)
input q: f32[2, 3, 5, 4]
input k: f32[2, 3, 4, 7]
input v: f32[2, 3, 7, 6]
input mask: f32[2, 1, 1, 7]
)" + body)
      .value();
}

std::vector<Tensor> inputs_of(const Graph& g) {
  LayerNet net(9);
  return test::inputs_of(net, g);
}

void check_apart(const std::string& body) {
  const Graph g = parse(body);
  EXPECT_EQ(count_lowered(simplified(g), "Attention"), 0) << body;
  expect_fused_bits(g, inputs_of(g));
}

TEST(Attention, WhatSomebodyElseReadsIsMade) {
  check_apart("s = MatMul(q, k)\np = Softmax(s)\ny = MatMul(p, v)\nz = Neg(s)\n"
              "output y: f32[2, 3, 5, 6]\noutput z: f32[2, 3, 5, 7]\n");
  check_apart("s = MatMul(q, k)\np = Softmax(s)\ny = MatMul(p, v)\n"
              "output y: f32[2, 3, 5, 6]\noutput p: f32[2, 3, 5, 7]\n");
  check_apart("s = MatMul(q, k)\nm = Add(s, mask)\np = Softmax(m)\ny = MatMul(p, v)\nz = Neg(m)\n"
              "output y: f32[2, 3, 5, 6]\noutput z: f32[2, 3, 5, 7]\n");
}

/// Masks that choose: known ones and those of a run, scores on either side, numbers added behind.
TEST(Attention, MasksOfConditions) {
  const std::string head = R"(graph g opset(""=17)
input q: f32[2, 3, 5, 4]
input k: f32[2, 3, 4, 7]
input v: f32[2, 3, 7, 6]
input mask: f32[2, 1, 1, 7]
input free: f32[5, 7]
const seven: f32[] = [0.7]
const low: f32[] = [-10000.0]
const known: bool[1, 7] = [1, 1, 0, 1, 1, 0, 1]
s = MatMul(q, k)
d = Div(s, seven)
open = Greater(free, seven)
)";
  const std::string tail = "p = Softmax(w)\ny = MatMul(p, v)\noutput y: f32[2, 3, 5, 6]\n";
  for (const std::string middle :
       {"w = Where(known, d, low)\n", "w = Where(open, low, d)\n", "w = Where(known, s, low)\n",
        "u = Where(known, d, low)\nw = Add(u, mask)\n",
        "u = Where(open, low, d)\nt = Add(mask, u)\nw = Where(known, t, mask)\n"}) {
    SCOPED_TRACE(middle);
    const Graph g = parse_graph(head + middle + tail).value();
    EXPECT_EQ(count_lowered(simplified(g), "Attention"), 1);
    expect_fused_bits(g, inputs_of(g));
  }
}

TEST(Attention, OtherAxesAndOtherOrdersStayApart) {
  check_apart("s = MatMul(q, k)\np = Softmax(s) {axis=2}\ny = MatMul(p, v)\n"
              "output y: f32[2, 3, 5, 6]\n");
  check_apart("s = MatMul(q, k)\np = Softmax(s)\nt = Transpose(v) {perm=[0, 1, 3, 2]}\n"
              "r = Transpose(p) {perm=[0, 1, 3, 2]}\ny = MatMul(t, r)\n"
              "output y: f32[2, 3, 6, 5]\n");
}

/// Scores that several heads of v share are computed once.
TEST(Attention, ScoresThatRepeatStayApart) {
  const Graph g = parse_graph(R"(graph g opset(""=17)
input q: f32[2, 1, 5, 4]
input k: f32[2, 1, 4, 7]
input v: f32[2, 3, 7, 6]
s = MatMul(q, k)
p = Softmax(s)
y = MatMul(p, v)
output y: f32[2, 3, 5, 6]
)")
                      .value();
  EXPECT_EQ(count_lowered(simplified(g), "Attention"), 0);
  expect_fused_bits(g, inputs_of(g));
}

/// One head of k and v for several of q; a result that is an output and read through a Transpose.
TEST(Attention, OneHeadOfKeysForSeveralOfQueries) {
  const Graph g = parse_graph(R"(graph g opset(""=17)
input q: f32[2, 3, 5, 4]
input k: f32[2, 1, 7, 4]
input v: f32[1, 7, 6]
t = Transpose(k) {perm=[0, 1, 3, 2]}
s = MatMul(q, t)
p = Softmax(s)
y = MatMul(p, v)
z = Transpose(y) {perm=[0, 2, 1, 3]}
output y: f32[2, 3, 5, 6]
output z: f32[2, 5, 3, 6]
)")
                      .value();
  EXPECT_EQ(count_lowered(simplified(g), "Attention"), 1);
  expect_fused_bits(g, inputs_of(g));
}

/// The result of one is a head of the next: its Transpose is one's to write or the other's to read.
TEST(Attention, OneBehindTheOther) {
  const Graph g = parse_graph(R"(graph g opset(""=17)
input q: f32[2, 3, 5, 4]
input k: f32[2, 3, 4, 7]
input v: f32[2, 3, 7, 4]
s = MatMul(q, k)
p = Softmax(s)
y = MatMul(p, v)
t = Transpose(y) {perm=[0, 2, 1, 3]}
t2 = Transpose(t) {perm=[0, 1, 3, 2]}
s2 = MatMul(t, t2)
p2 = Softmax(s2)
y2 = MatMul(p2, t)
output y2: f32[2, 5, 3, 4]
)")
                      .value();
  EXPECT_EQ(count_lowered(simplified(g), "Attention"), 2);
  expect_fused_bits(g, inputs_of(g));
}

TEST(Attention, ATransposeBetweenTwoIsOneOfTheirs) {
  const Graph g = parse_graph(R"(graph g opset(""=17)
input q: f32[2, 3, 5, 4]
input k: f32[2, 3, 4, 7]
input v: f32[2, 3, 7, 4]
input k2: f32[2, 5, 4, 6]
input v2: f32[2, 5, 6, 4]
s = MatMul(q, k)
p = Softmax(s)
y = MatMul(p, v)
t = Transpose(y) {perm=[0, 2, 1, 3]}
s2 = MatMul(t, k2)
p2 = Softmax(s2)
y2 = MatMul(p2, v2)
output y2: f32[2, 5, 3, 4]
)")
                      .value();
  EXPECT_EQ(count_lowered(simplified(g), "Attention"), 2);
  EXPECT_EQ(transposes(g), 0);
  expect_fused_bits(g, inputs_of(g));
}

} // namespace
} // namespace octet::attention_test

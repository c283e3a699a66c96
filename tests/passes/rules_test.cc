// SPDX-License-Identifier: Apache-2.0
// Rules that change no number: graphs as text before and after, the same bits on random input.
#include "passes/pass_support.h"

namespace octet {
namespace {

using test::apply;
using test::expect_same_numbers;
using test::parse;
using test::printed;

struct Case {
  const char* name;
  std::initializer_list<RuleFn*> rules;
  const char* before;
  const char* after; ///< nodes only, one a line
};

/// The lines of the printed graph that are nodes, without the nodes' names.
std::string node_lines(const Graph& graph) {
  std::string out;
  const std::string text = printed(graph);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    std::string line = text.substr(begin, end - begin);
    if (line.ends_with('"')) line.resize(line.rfind(" \""));
    begin = end + 1;
    if (line.find(" = ") != std::string::npos && !line.starts_with("const ")) out += line + "\n";
  }
  return out;
}

const Case kCases[] = {
    {"reshape to the same shape",
     {eliminate_same_shape},
     R"(graph g opset(""=17)
input x: f32[N, 4]
const s: i64[2] = [0, -1]
a = Reshape(x, s)
b = Flatten(a)
y = Relu(b)
output y: f32[N, 4]
)",
     "y = Relu(x)\n"},
    {"pad of nothing, slice of all, concat of one",
     {eliminate_same_shape},
     R"(graph g opset(""=17)
input x: f32[2, 4]
const none: i64[4] = [0, 0, 0, 0]
const begin: i64[1] = [0]
const end: i64[1] = [9]
a = Pad(x, none)
b = Slice(a, begin, end)
c = Concat(b) {axis=0}
d = Sum(c)
y = Relu(d)
output y: f32[2, 4]
)",
     "y = Relu(x)\n"},
    {"a slice that runs backwards stays",
     {eliminate_same_shape},
     R"(graph g opset(""=17)
input x: f32[4]
const begin: i64[1] = [-1]
const end: i64[1] = [-9]
const axes: i64[1] = [0]
const steps: i64[1] = [-1]
a = Slice(x, begin, end, axes, steps)
y = Relu(a)
output y: f32[4]
)",
     "a = Slice(x, begin, end, axes, steps)\ny = Relu(a)\n"},
    {"neutral elements",
     {eliminate_neutral},
     R"(graph g opset(""=17)
input x: f32[2, 3]
const one: f32[] = [1]
const zero: f32[1] = [0]
a = Mul(one, x)
b = Sub(a, zero)
c = Div(b, one)
d = Pow(c, one)
y = Relu(d)
output y: f32[2, 3]
)",
     "y = Relu(x)\n"},
    {"zeros that may be a bias stay",
     {eliminate_neutral},
     R"(graph g opset(""=17)
input x: f32[2, 3]
const b: f32[3] = [0, 0, 0]
a = Add(x, b)
y = Relu(a)
output y: f32[2, 3]
)",
     "a = Add(x, b)\ny = Relu(a)\n"},
    {"gains of ones, for a model that is only run",
     {eliminate_neutral_parameters},
     R"(graph g opset(""=17)
input x: f32[2, 3]
const g: f32[3] = [1, 1, 1]
a = Mul(x, g)
y = Relu(a)
output y: f32[2, 3]
)",
     "y = Relu(x)\n"},
    {"a neutral element that broadcasts stays",
     {eliminate_neutral},
     R"(graph g opset(""=17)
input x: f32[3]
const ones: f32[2, 3] = [1, 1, 1, 1, 1, 1]
a = Mul(ones, x)
y = Relu(a)
output y: f32[2, 3]
)",
     "a = Mul(ones, x)\ny = Relu(a)\n"},
    {"repeated",
     {eliminate_repeated},
     R"(graph g opset(""=17)
input x: f32[3]
a = Relu(x)
b = Relu(a)
c = Neg(b)
d = Neg(c)
y = Exp(d)
output y: f32[3]
)",
     "a = Relu(x)\ny = Exp(a)\n"},
    {"bits that are turned over twice",
     {eliminate_repeated},
     R"(graph g opset(""=18)
input x: i32[3]
a = BitwiseNot(x)
b = BitwiseNot(a)
y = Abs(b)
output y: i32[3]
)",
     "y = Abs(x)\n"},
    {"transposes that undo each other",
     {merge_transposes},
     R"(graph g opset(""=17)
input x: f32[2, 3, 4]
a = Transpose(x) {perm=[0, 2, 1]}
b = Transpose(a) {perm=[0, 2, 1]}
y = Relu(b)
output y: f32[2, 3, 4]
)",
     "y = Relu(x)\n"},
    {"transposes that are one",
     {merge_transposes},
     R"(graph g opset(""=17)
input x: f32[2, 3, 4]
a = Transpose(x) {perm=[1, 2, 0]}
y = Transpose(a) {perm=[0, 2, 1]}
output y: f32[3, 2, 4]
)",
     "y = Transpose(x) {perm=[1, 0, 2]}\n"},
    {"squeeze after unsqueeze",
     {merge_reshapes},
     R"(graph g opset(""=17)
input x: f32[N, M]
const one: i64[1] = [1]
a = Unsqueeze(x, one)
b = Squeeze(a, one)
y = Relu(b)
output y: f32[N, M]
)",
     "y = Relu(x)\n"},
    {"reshapes that are one",
     {merge_reshapes},
     R"(graph g opset(""=17)
input x: f32[N, 6]
const s: i64[3] = [-1, 2, 3]
const t: i64[3] = [-1, 3, 2]
a = Reshape(x, s)
y = Reshape(a, t)
output y: f32[N, 3, 2]
)",
     "y = Reshape(x, y/shape)\n"},
    {"casts through a wider type",
     {merge_casts, eliminate_identity},
     R"(graph g opset(""=17)
input x: i32[3]
a = Cast(x) {to=7}
b = Cast(a) {to=6}
y = Abs(b)
output y: i32[3]
)",
     "y = Abs(x)\n"},
    {"casts through a narrower type stay",
     {merge_casts, eliminate_identity},
     R"(graph g opset(""=17)
input x: f32[3]
a = Cast(x) {to=7}
y = Cast(a) {to=1}
output y: f32[3]
)",
     "a = Cast(x) {to=7}\ny = Cast(a) {to=1}\n"},
    {"duplicates",
     {eliminate_duplicates},
     R"(graph g opset(""=17)
input x: f32[2, 3]
const s: i64[2] = [3, 2]
const t: i64[2] = [3, 2]
a = Reshape(x, s)
b = Reshape(x, t)
c = Exp(a)
d = Exp(b)
y = Add(c, d)
output y: f32[3, 2]
)",
     "a = Reshape(x, s)\nc = Exp(a)\ny = Add(c, c)\n"},
    {"open shapes that have known elements",
     {fold_known_elements},
     R"(graph g opset(""=17)
input x: f32[N, 3, 8]
const at: i64[] = [2]
const four: i64[] = [4]
const axis: i64[1] = [0]
s = Shape(x)
d = Gather(s, at)
p = Mul(d, four)
u = Unsqueeze(p, axis)
y = ConstantOfShape(u)
output y: f32[32]
)",
     "y = ConstantOfShape(u)\n"},
    {"a reshape by the input's own sizes",
     {fold_reshape_shape},
     R"(graph g opset(""=17)
input x: f32[N, S, 6]
const zero: i64[1] = [0]
const one: i64[1] = [1]
const two: i64[1] = [2]
const three: i64[1] = [3]
s = Shape(x)
n = Gather(s, zero)
m = Gather(s, one)
t = Concat(n, m, two, three) {axis=0}
y = Reshape(x, t)
output y: f32[N, S, 2, 3]
)",
     "y = Reshape(x, y/shape)\n"},
    {"an expand by the input's own sizes",
     {fold_expand_shape},
     R"(graph g opset(""=17)
input x: f32[N, 1, 6]
const four: i64[1] = [4]
n = Shape(x) {start=0, end=1}
m = Shape(x) {start=2}
t = Concat(n, four, m) {axis=0}
y = Expand(x, t)
output y: f32[N, 4, 6]
)",
     "y = Expand(x, y/shape)\n"},
    {"an expand that is broadcast anyway",
     {skip_expand},
     R"(graph g opset(""=17)
input x: f32[N, 1, 6]
input z: f32[N, 4, 6]
t = Shape(z)
a = Expand(x, t)
y = Add(z, a)
output y: f32[N, 4, 6]
)",
     "y = Add(z, x)\n"},
    {"an Expand before any operator that broadcasts",
     {skip_expand},
     R"(graph g opset(""=17)
input x: f32[N, 1, 6]
input z: f32[N, 4, 6]
t = Shape(z)
a = Expand(x, t)
y = Max(z, a)
output y: f32[N, 4, 6]
)",
     "y = Max(z, x)\n"},
    {"the bias of a product stands second",
     {order_bias},
     R"(graph g opset(""=17)
input x: f32[2, 2, 2]
const w: f32[2, 2] = [1, 2, 3, 4]
const b: f32[2] = [1, 2]
p = MatMul(x, w)
y = Add(b, p)
output y: f32[2, 2, 2]
)",
     "p = MatMul(x, w)\ny = Add(p, b)\n"},
    {"pad into conv",
     {fold_pad},
     R"(graph g opset(""=17)
input x: f32[1, 1, 4, 4]
const w: f32[1, 1, 2, 2] = [1, 2, 3, 4]
const p: i64[8] = [0, 0, 1, 0, 0, 0, 1, 2]
a = Pad(x, p)
y = Conv(a, w) {pads=[1, 1, 0, 0]}
output y: f32[1, 1, 6, 6]
)",
     "y = Conv(x, w) {pads=[2, 1, 1, 2]}\n"},
    {"a pool that rounds nothing up",
     {floor_pool},
     R"(graph g opset(""=17)
input x: f32[N, 2, 8]
a, i = MaxPool(x) {ceil_mode=1, kernel_shape=[1], strides=[2]}
b = AveragePool(a) {ceil_mode=1, kernel_shape=[2], strides=[2]}
y = AveragePool(b) {ceil_mode=1, kernel_shape=[2], pads=[1, 1], strides=[2]}
j = Cast(i) {to=1}
k = AveragePool(j) {ceil_mode=1, kernel_shape=[3], strides=[2]}
output y: f32[N, 2, 2]
output k: f32[N, 2, 2]
)",
     "j = Cast(i) {to=1}\n"
     "k = AveragePool(j) {ceil_mode=1, kernel_shape=[3], strides=[2]}\n"
     "a, i = MaxPool(x) {kernel_shape=[1], strides=[2]}\n"
     "b = AveragePool(a) {kernel_shape=[2], strides=[2]}\n"
     "y = AveragePool(b) {kernel_shape=[2], pads=[1, 1], strides=[2]}\n"},
    {"pad into average pool",
     {fold_pad},
     R"(graph g opset(""=17)
input x: f32[1, 1, 4, 4]
const p: i64[8] = [0, 0, 1, 1, 0, 0, 1, 1]
a = Pad(x, p)
y = AveragePool(a) {kernel_shape=[3, 3]}
output y: f32[1, 1, 4, 4]
)",
     "y = AveragePool(x) {count_include_pad=1, kernel_shape=[3, 3], pads=[1, 1, 1, 1]}\n"},
    {"outputs that nobody reads",
     {drop_unused_outputs},
     R"(graph g opset(""=17)
input x: f32[1, 1, 4, 4]
y, i = MaxPool(x) {kernel_shape=[2, 2]}
output y: f32[1, 1, 3, 3]
)",
     "y = MaxPool(x) {kernel_shape=[2, 2]}\n"},
    {"scales of attention, powers of two",
     {merge_attention_scales},
     R"(graph g opset(""=17)
input q: f32[2, 4, 16]
input k: f32[2, 16, 4]
const half: f32[] = [0.5]
a = Mul(q, half)
b = Mul(k, half)
y = MatMul(a, b) "scores"
output y: f32[2, 4, 4]
)",
     "y = MatMul(Mul_7, k)\nMul_7 = Mul(q, scores/scale)\n"},
    {"the keys of the dynamo exporter",
     {merge_batched_transpose},
     R"(graph g opset(""=18)
input x: f32[B, 2, S, 4]
const flat: i64[3] = [-1, 0, 4]
r = Shape(x) {start=2, end=3}
rest = Shape(x) {start=0, end=2}
const minus: i64[1] = [-1]
const four: i64[1] = [4]
joined = Concat(minus, r, four) {axis=0}
parted = Concat(rest, four, r) {axis=0}
a = Reshape(x, joined)
b = Transpose(a) {perm=[0, 2, 1]}
c = Reshape(b, parted)
y = Relu(c)
output y: f32[B, 2, 4, S]
)",
     "y = Relu(c)\nc = Transpose(x) {perm=[0, 1, 3, 2]}\n"},
    {"a part of a shape",
     {merge_shape_parts},
     R"(graph g opset(""=17)
input x: f32[A, B, C]
const at: i64[] = [1]
const axis: i64[1] = [0]
const from: i64[1] = [1]
const to: i64[1] = [3]
s = Shape(x)
d = Gather(s, at)
u = Unsqueeze(d, axis)
v = Slice(s, from, to)
y = Concat(u, v) {axis=0}
output y: i64[3]
)",
     "y = Concat(u, v) {axis=0}\nu = Shape(x) {end=2, start=1}\nv = Shape(x) {end=3, start=1}\n"},
    {"a mask gathered in its order, as TorchScript writes it",
     {fold_ordered_gather, eliminate_true},
     R"(graph g opset(""=17)
input m: bool[B, S]
const zero: i64[] = [0]
const one: i64[] = [1]
const rows: i64[2] = [-1, 1]
s = Shape(m)
b = Gather(s, zero)
n = Gather(s, one)
i = Range(zero, b, one)
j = Range(zero, n, one)
k = Reshape(i, rows)
p = Mul(k, n)
q = Add(p, j)
flat = Flatten(m) {axis=0}
const minus: i64[1] = [-1]
f = Reshape(flat, minus)
t = Gather(f, q)
h = GreaterOrEqual(j, zero)
y = And(h, t)
output y: bool[B, S]
)",
     "y = Reshape(m, t/shape)\n"},
    {"a true mask that is broadcast anyway",
     {eliminate_true},
     R"(graph g opset(""=17)
input m: bool[2, 1, 1, 3]
input s: f32[2, 4, 3, 3]
const yes: bool[1, 1, 3, 1] = [1, 1, 1]
const zero: f32[] = [0]
const low: f32[] = [-10]
a = And(yes, m)
w = Where(a, zero, low)
y = Add(s, w)
output y: f32[2, 4, 3, 3]
)",
     "w = Where(m, zero, low)\ny = Add(s, w)\n"},
    {"a true mask that someone would miss",
     {eliminate_true},
     R"(graph g opset(""=17)
input m: bool[2, 1, 1, 3]
const yes: bool[1, 1, 3, 1] = [1, 1, 1]
a = And(yes, m)
y = Not(a)
output y: bool[2, 1, 3, 3]
)",
     "a = And(yes, m)\ny = Not(a)\n"},
    {"a mask gathered in its order, as the dynamo exporter writes it",
     {fold_ordered_gather},
     R"(graph g opset(""=18)
input m: bool[2, 3]
const pairs: i64[2, 1, 3, 2] = [0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 1, 2]
a = GatherND(m, pairs)
y = Not(a)
output y: bool[2, 1, 3]
)",
     "y = Not(a)\na = Reshape(m, a/shape)\n"},
    {"a guard against NaN behind a finite mask",
     {eliminate_nan_guard},
     R"(graph g opset(""=17)
input q: f32[2, 4, 4]
input m: bool[2, 1, 4]
const zero: f32[] = [0]
const low: f32[] = [-3.4e38]
mask = Where(m, zero, low)
s = MatMul(q, q)
t = Add(s, mask)
p = Softmax(t)
n = IsNaN(p)
y = Where(n, zero, p)
output y: f32[2, 4, 4]
)",
     "mask = Where(m, zero, low)\ns = MatMul(q, q)\nt = Add(s, mask)\ny = Softmax(t)\n"},
};

TEST(ExactRules, TurnTextIntoText) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    const Graph before = parse(c.before);
    Graph after = before;
    for (const Step& s : apply(after, c.rules))
      EXPECT_EQ(s.exactness, Exactness::kExact);
    EXPECT_EQ(node_lines(after), c.after);
    expect_same_numbers(before, after, 0);
  }
}

TEST(EliminateNeutral, AddingZeroIsCalledRounding) {
  Graph g = parse(R"(graph g opset(""=17)
input x: f32[2]
const zero: f32[] = [0]
a = Add(x, zero)
y = Relu(a)
output y: f32[2]
)");
  const std::vector<Step> steps = apply(g, {eliminate_neutral});
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].exactness, Exactness::kRounding);
}

TEST(RemoveTrainingDropout, IsCalledInexact) {
  Graph g = parse(R"(graph g opset(""=17)
input x: f32[4]
const ratio: f32[] = [0.5]
const yes: bool[] = [1]
a = Dropout(x, ratio, yes)
y = Relu(a)
output y: f32[4]
)");
  const std::vector<Step> steps = apply(g, {remove_training_dropout});
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(steps[0].exactness, Exactness::kInexact);
  EXPECT_EQ(node_lines(g), "y = Relu(x)\n");
}

} // namespace
} // namespace octet

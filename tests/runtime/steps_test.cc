// SPDX-License-Identifier: Apache-2.0
// Small graphs, one operator each; see step_cases.h.
#include "runtime/step_cases.h"

namespace octet {
namespace {

using Case = StepCase;

const Case kCases[] = {
    {"Transpose",
     "input x: f32[N, S, 6]\ny = Transpose(x) {perm=[2, 0, 1]}\noutput y: f32[6, N, S]"},
    {"TransposeBackwards", "input x: i64[N, S]\ny = Transpose(x)\noutput y: i64[S, N]"},
    {"Slice", "input x: f32[N, S, 6]\nconst a: i64[2] = [1, -2]\nconst e: i64[2] = [100, -100]\n"
              "const t: i64[2] = [-1, 1]\nconst d: i64[2] = [2, -1]\ny = Slice(x, a, e, t, d)\n"
              "output y: f32[N, S, ?]"},
    {"SliceBackwards",
     "input x: i32[N, 7]\nconst a: i64[1] = [-2]\nconst e: i64[1] = [0]\nconst t: i64[1] = [1]\n"
     "const d: i64[1] = [-3]\ny = Slice(x, a, e, t, d)\noutput y: i32[N, 2]"},
    {"Expand", "input x: f32[N, 1, 3]\nconst s: i64[3] = [1, 5, 1]\ny = Expand(x, s)\n"
               "output y: f32[N, 5, 3]"},
    {"Concat", "input x: f32[N, S]\ninput z: f32[N, 3]\ny = Concat(x, z, x) {axis=1}\n"
               "output y: f32[N, ?]"},
    {"Split", "input x: f32[N, 6, S]\na, b, c = Split(x) {axis=1}\ny = Concat(c, a, b) {axis=-2}\n"
              "output y: f32[N, 6, S]"},
    {"GatherRows", "input x: f32[6, S]\ninput i: i64[N]\ny = Gather(x, i)\noutput y: f32[N, S]"},
    {"GatherInside", "input x: f32[N, 6, S]\nconst i: i32[2, 2] = [0, -1, 3, 5]\n"
                     "y = Gather(x, i) {axis=1}\noutput y: f32[N, 2, 2, S]"},
    {"GatherOne", "input x: f32[N, 6, S]\nconst i: i64[] = [2]\ny = Gather(x, i) {axis=1}\n"
                  "output y: f32[N, S]"},
    {"AddColumn", "input x: f32[N, S]\ninput z: f32[N, 1]\ny = Add(x, z)\noutput y: f32[N, S]"},
    {"SubFromOne", "input x: f32[N, S]\nconst c: f32[] = [1]\ny = Sub(c, x)\noutput y: f32[N, S]"},
    {"MulBothWays", "input x: f32[N, 1, 5]\ninput z: f32[S, 1]\ny = Mul(x, z)\n"
                    "output y: f32[N, S, 5]"},
    {"Div", "input x: f32[N, S]\ninput z: f32[S]\ny = Div(x, z)\noutput y: f32[N, S]"},
    {"Where", "input x: f32[N, S]\ninput z: f32[S]\nc = Less(x, z)\ny = Where(c, x, z)\n"
              "output y: f32[N, S]"},
    {"WhereOneRepeats", R"(input x: f32[N, S]
input column: f32[N, 1]
input row: f32[S]
input one: f32[]
input wide: i64[N, S]
input number: i64[1]
c = Less(x, row)
r = Less(column, one)
a = Where(c, x, column)
b = Where(c, column, row)
d = Where(c, one, column)
e = Where(r, x, row)
f = Where(r, column, x)
g = Where(c, wide, number)
h = Where(c, c, r)
i = Cast(h) {to=1}
output a: f32[N, S]
output b: f32[N, S]
output d: f32[N, S]
output e: f32[N, S]
output f: f32[N, S]
output g: i64[N, S]
output i: f32[N, S])",
     17, true},
    {"ScanAlongAnyAxis", R"(input h: f32[N, 3]
input x: f32[N, S, 3]
input z: f32[3, 2, S]
a, b, c, d = Scan(h, x, z) {num_scan_inputs=2, scan_input_axes=[1, -1], scan_input_directions=[0, 1], scan_output_axes=[1, -1, 0], scan_output_directions=[0, 1, 1], body={ graph step
  input s: f32[N, 3]
  input e: f32[N, 3]
  input w: f32[3, 2]
  t = Add(s, e)
  o = Tanh(t)
  p = MatMul(o, w)
  k = Identity(s)
  i = Cast(e) {to=7}
  output o: f32[N, 3]
  output p: f32[N, 2]
  output k: f32[N, 3]
  output i: i64[N, 3]
}}
output a: f32[N, 3]
output b: f32[N, S, 2]
output c: f32[N, 3, S]
output d: i64[S, N, 3])"},
    {"LoopThatCollects", R"(input x: f32[N, S]
const trips: i64[] = [37]
const on: bool[] = [1]
a, b, c = Loop(trips, on, x) {body={ graph turn
  input i: i64[]
  input go: bool[]
  input s: f32[N, S]
  f = Cast(i) {to=1}
  t = Add(s, f)
  o = Tanh(t)
  k = Identity(s)
  e = Identity(go)
  output e: bool[]
  output o: f32[N, S]
  output k: f32[N, S]
  output f: f32[]
}}
output a: f32[N, S]
output b: f32[37, N, S]
output c: f32[37])"},
    {"CompareIntegers", "input x: i64[N, S]\ninput z: i64[S]\nc = GreaterOrEqual(x, z)\n"
                        "y = Cast(c) {to=1}\noutput y: f32[N, S]"},
    {"CastWide", "input x: i64[N, S]\na = Cast(x) {to=6}\nb = Cast(a) {to=9}\nd = Cast(b) {to=7}\n"
                 "y = Cast(d) {to=1}\noutput y: f32[N, S]"},
    {"Roots",
     "input x: f32[N, S]\na = Sqrt(x)\nb = Reciprocal(a)\ny = Neg(b)\noutput y: f32[N, S]"},
    {"MatMul", "input x: f32[N, 1, S, 5]\ninput z: f32[3, 5, S]\ny = MatMul(x, z)\n"
               "output y: f32[N, 3, S, S]"},
    {"QMatMul", R"(input x: f32[N, 1, S, 13]
input z: f32[3, 13, S]
const s: f32[] = [0.011]
const a: u8[] = [77]
const b: i8[] = [-5]
const t: f32[] = [0.05]
q = QuantizeLinear(x, s, a)
r = QuantizeLinear(z, s, b)
d = DequantizeLinear(q, s, a)
e = DequantizeLinear(r, s, b)
m = MatMul(d, e)
p = QuantizeLinear(m, t, a)
y = DequantizeLinear(p, t, a)
output y: f32[N, 3, S, S])"},
    {"QMatMulToFloat", R"(input x: f32[N, S, 16]
input z: f32[16, 20]
const s: f32[] = [0.011]
const a: i8[] = [3]
const b: u8[] = [200]
q = QuantizeLinear(x, s, a)
r = QuantizeLinear(z, s, b)
d = DequantizeLinear(q, s, a)
e = DequantizeLinear(r, s, b)
y = MatMul(d, e)
output y: f32[N, S, 20])"},
    {"DynamicProduct", R"(input x: f32[N, S, 6]
const w: i8[6, 3] = [1, 2, -3, 4, 5, -127, 7, 8, 9, 10, 127, 12, -13, 14, -15, 16, 17, -18]
const w_scale: f32[3] = [0.01, 0.02, 0.03]
const bias: f32[3] = [0.5, -0.5, 0.25]
q, s, z = DynamicQuantizeLinear(x)
m = MatMulInteger(q, w, z)
f = Cast(m) {to=1}
t = Mul(s, w_scale)
r = Mul(f, t)
y = Add(r, bias)
output y: f32[N, S, 3])"},
    {"Range", R"(input x: f32[N, S]
input t: f32[400, 3]
const first: i64[1] = [0]
const from: i64[] = [2]
const by: i64[] = [1]
shape = Shape(x) {start=1}
length = Squeeze(shape, first)
limit = Add(length, by)
at = Range(from, limit, by)
y = Gather(t, at)
output y: f32[?, 3])"},
    {"ComputedShape", R"(input x: f32[N, S, 6]
const zero: i64[] = [0]
const first: i64[1] = [0]
const tail: i64[2] = [-1, 3]
shape = Shape(x)
n = Gather(shape, zero)
m = Unsqueeze(n, first)
want = Concat(m, tail) {axis=0}
y = Reshape(x, want)
output y: f32[N, ?, 3])"},
    {"QAddBroadcast", R"(input x: f32[N, S, 5]
input z: f32[S, 1]
input bias: f32[5]
input one: f32[]
const s: f32[] = [0.011]
const a: u8[] = [77]
const b: i8[] = [-5]
q = QuantizeLinear(x, s, a)
r = QuantizeLinear(z, s, b)
t = QuantizeLinear(bias, s, b)
u = QuantizeLinear(one, s, a)
d = DequantizeLinear(q, s, a)
e = DequantizeLinear(r, s, b)
f = DequantizeLinear(t, s, b)
g = DequantizeLinear(u, s, a)
h = Add(d, e)
i = QuantizeLinear(h, s, a)
j = DequantizeLinear(i, s, a)
k = Add(f, j)
l = QuantizeLinear(k, s, b)
m = DequantizeLinear(l, s, b)
n = Add(m, g)
o = QuantizeLinear(n, s, b)
y = DequantizeLinear(o, s, b)
output y: f32[N, S, 5])"},
    {"ReduceLast", R"(input x: f32[N, S, 37]
a = ReduceMean(x) {axes=[-1]}
b = ReduceMax(x) {axes=[2], keepdims=0}
c = ReduceMin(x) {axes=[1, 2]}
d = ReduceMean(x)
output a: f32[N, S, 1]
output b: f32[N, S]
output c: f32[N, 1, 1]
output d: f32[1, 1, 1])",
     17, true},
    {"ReduceOthers", R"(input x: f32[N, S, 3, 2]
const middle: i64[2] = [1, -2]
const apart: i64[2] = [3, 0]
a = ReduceSum(x, middle)
b = ReduceMean(x) {axes=[0], keepdims=0}
c = ReduceMin(x) {axes=[2, 0]}
d = ReduceSum(x, apart) {keepdims=0}
e = ReduceMax(x) {axes=[1]}
output a: f32[N, 1, 1, 2]
output b: f32[S, 3, 2]
output c: f32[1, S, 1, 2]
output d: f32[S, 3]
output e: f32[N, 1, 3, 2])",
     17, true},
    {"ReduceByInput", R"(input x: f32[N, S]
const last: i64[1] = [-1]
const none: i64[0] = []
a = ReduceMean(x, last)
b = ReduceMax(x, none) {noop_with_empty_axes=1}
c = ReduceMin(x) {keepdims=0}
d = ReduceSum(x, none) {noop_with_empty_axes=1}
output a: f32[N, 1]
output b: f32[N, S]
output c: f32[]
output d: f32[N, S])",
     18, true},
    {"ReduceByAttribute", R"(input x: f32[N, S]
a = ReduceSum(x) {axes=[-1]}
b = ReduceSum(x) {axes=[0], keepdims=0}
output a: f32[N, 1]
output b: f32[S])",
     12, true},
    {"Pow", R"(input x: f32[N, S]
const two: f32[] = [2]
const three: f32[1, 1, 1] = [3]
const half: f32[1] = [0.5]
const inverse: i64[] = [-1]
const other: f32[] = [1.7]
const zero: f32[] = [0]
a = Pow(x, two)
b = Pow(x, three)
c = Pow(x, half)
d = Pow(x, inverse)
e = Pow(x, other)
f = Pow(x, zero)
output a: f32[N, S]
output b: f32[1, N, S]
output c: f32[N, S]
output d: f32[N, S]
output e: f32[N, S]
output f: f32[N, S])",
     17, true},
    {"Clip", R"(input x: f32[N, S]
input bound: f32[]
const low: f32[] = [-0.5]
const zero: f32[] = [-0.0]
const nan: f32[] = [nan]
a = Clip(x, low, zero)
b = Clip(x, _, low)
c = Clip(x, zero)
d = Clip(x, bound, nan)
e = Clip(x, zero, low)
f = Abs(x)
output a: f32[N, S]
output b: f32[N, S]
output c: f32[N, S]
output d: f32[N, S]
output e: f32[N, S]
output f: f32[N, S])",
     17, true},
    {"ClipByAttributes", R"(input x: f32[N, S]
a = Clip(x) {min=-0.25}
b = Clip(x) {max=0.5, min=-1.0}
output a: f32[N, S]
output b: f32[N, S])",
     10, true},
    {"MinAndMax", R"(input x: f32[N, S]
input z: f32[S]
const zero: f32[] = [0]
a = Min(x, z)
b = Max(z, x)
c = Max(x, zero)
d = Min(zero, x)
output a: f32[N, S]
output b: f32[N, S]
output c: f32[N, S]
output d: f32[N, S])",
     17, true},
    {"Logic", R"(input x: bool[N, 1, S]
input z: bool[N, 1]
const yes: bool[] = [1]
a = And(x, z)
b = Or(z, x)
c = Xor(x, z)
d = Not(c)
e = Xor(x, yes)
output a: bool[N, N, S]
output b: bool[N, N, S]
output d: bool[N, N, S]
output e: bool[N, 1, S])",
     17, true},
    {"Classes", R"(input x: f32[N, S]
a = IsNaN(x)
b = IsInf(x)
c = IsInf(x) {detect_negative=0}
d = IsInf(x) {detect_positive=0}
e = IsInf(x) {detect_positive=0, detect_negative=0}
output a: bool[N, S]
output b: bool[N, S]
output c: bool[N, S]
output d: bool[N, S]
output e: bool[N, S])",
     20, true},
    {"BitsOfIntegers", R"(input x: i32[N, 1, S]
input z: i32[N, 1]
input v: u32[S]
input w: u32[N, S]
a = BitwiseAnd(x, z)
b = BitwiseOr(z, x)
c = BitwiseXor(a, b)
d = BitwiseNot(c)
e = BitwiseXor(v, w)
f = BitwiseNot(e)
g = Sub(v, w)
output d: i32[N, N, S]
output f: u32[N, S]
output g: u32[N, S])",
     18, true},
    {"Shifts", R"(input x: u8[N, S]
input z: u8[S]
input v: u64[N, S]
const by: u64[5, 1, 1] = [0, 1, 33, 63, 64]
a = BitShift(x, z) {direction="LEFT"}
b = BitShift(x, z) {direction="RIGHT"}
c = Sub(v, by)
d = BitShift(c, by) {direction="LEFT"}
e = BitShift(c, by) {direction="RIGHT"}
output a: u8[N, S]
output b: u8[N, S]
output d: u64[5, N, S]
output e: u64[5, N, S])",
     18, false, 9},
    {"Hardmax", R"(input x: f32[N, 7, S]
y = Hardmax(x) {axis=1}
output y: f32[N, 7, S])",
     13, true},
    {"CastLike", R"(input x: f32[N, S]
input t: i64[S]
y = CastLike(x, t)
output y: i64[N, S])",
     19, true},
    {"SumAndMean", R"(input x: f32[N, 1, S]
input z: f32[S]
input v: f32[N, 1]
a = Sum(x, z, v)
b = Mean(z, x, v, x)
output a: f32[N, N, S]
output b: f32[N, N, S])",
     13, true},
    {"Turns", R"(input x: f32[N, S]
const far: f32[] = [3e9]
const turn: f32[] = [37.5]
a = Sin(x)
b = Cos(x)
w = Mul(x, turn)
c = Sin(w)
v = Mul(x, far)
d = Cos(v)
e = Sin(v)
output a: f32[N, S]
output b: f32[N, S]
output c: f32[N, S]
output d: f32[N, S]
output e: f32[N, S])",
     17, true},
};

INSTANTIATE_TEST_SUITE_P(Operators, Steps, ::testing::ValuesIn(kCases), [](const auto& made) {
  return std::string(made.param.name);
});

} // namespace
} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// Operators that pick, count and rank elements, and arithmetic on integers; see step_cases.h.
#include <limits>

#include "runtime/step_cases.h"

#include "octet/graph_text.h"
#include "octet/session.h"

namespace octet {
namespace {

const StepCase kPickCases[] = {
    {.name = "MaxPoolPlaces",
     .text = R"(input x: f32[N, 3, 9, S]
input u: u8[N, 2, S]
input v: i8[N, 2, S, 3, 4]
a, b = MaxPool(x) {kernel_shape=[3, 2], strides=[2, 1], pads=[1, 1, 1, 1]}
c, d = MaxPool(x) {kernel_shape=[2, 2], storage_order=1, auto_pad="SAME_UPPER"}
e, f = MaxPool(u) {kernel_shape=[3], pads=[1, 1]}
g, h = MaxPool(v) {kernel_shape=[1, 2, 2], storage_order=1}
output a: f32[N, 3, ?, ?]
output b: i64[N, 3, ?, ?]
output c: f32[N, 3, ?, ?]
output d: i64[N, 3, ?, ?]
output e: u8[N, 2, ?]
output f: i64[N, 2, ?]
output g: i8[N, 2, S, 2, 3]
output h: i64[N, 2, S, 2, 3])",
     .odd_values = true,
     .least = 1},
    {"GatherElements", R"(input x: f32[N, 6, S]
input i: i64[N, 4, S]
input j: i32[N, 6, 3]
input l: i64[N, 6, S]
const zero: i64[] = [0]
const one: i32[] = [1]
k = Mul(j, one)
m = Mul(l, zero)
a = GatherElements(x, i) {axis=1}
b = GatherElements(x, m) {axis=-1}
c = GatherElements(x, m)
output a: f32[N, 4, S]
output b: f32[N, 6, S]
output c: f32[N, 6, S]
output k: i32[N, 6, 3])"},
    {"GatherElementsOfBytes", R"(input x: u8[6, N]
input i: i32[4, N]
y = GatherElements(x, i)
output y: u8[4, N])"},
    {"GatherND", R"(input x: f32[6, 7, S]
input i: i64[N, 2]
input j: i64[6, N, 1]
input l: i64[N, 1]
a = GatherND(x, i)
b = GatherND(x, j) {batch_dims=1}
c = GatherND(x, l)
output a: f32[N, S]
output b: f32[6, N, S]
output c: f32[N, 7, S])"},
    {"ScatterElements", R"(input x: f32[N, 6, S]
input i: i64[N, 4, S]
input u: f32[N, 4, S]
a = ScatterElements(x, i, u) {axis=1}
b = ScatterElements(x, i, u) {axis=1, reduction="add"}
c = ScatterElements(x, i, u) {axis=1, reduction="max"}
d = ScatterElements(x, i, u) {axis=1, reduction="mul"}
output a: f32[N, 6, S]
output b: f32[N, 6, S]
output c: f32[N, 6, S]
output d: f32[N, 6, S])",
     18},
    {"ScatterIntegers", R"(input x: i64[6, S]
input z: i8[6, S]
input i: i32[4, S]
input u: i64[4, S]
input v: i8[4, S]
a = ScatterElements(x, i, u) {reduction="min"}
b = ScatterElements(x, i, u) {reduction="add"}
c = ScatterElements(z, i, v)
output a: i64[6, S]
output b: i64[6, S]
output c: i8[6, S])",
     18},
    {"ScatterND", R"(input x: f32[6, 7, S]
input i: i64[N, 2]
input u: f32[N, S]
input j: i64[N, 1]
input v: f32[N, 7, S]
a = ScatterND(x, i, u)
b = ScatterND(x, j, v) {reduction="add"}
output a: f32[6, 7, S]
output b: f32[6, 7, S])",
     18},
    {"OneHot", R"(input x: i64[N, S]
input z: f32[N, S]
const depth: i64[] = [5]
const v: f32[2] = [-0.5, 2]
const w: u8[2] = [0, 1]
a = OneHot(x, depth, v)
b = OneHot(x, depth, w) {axis=0}
c = OneHot(z, depth, v) {axis=1}
output a: f32[N, S, 5]
output b: u8[5, N, S]
output c: f32[N, 5, S])",
     17, false, 8},
    {"Trilu", R"(input x: f32[N, S, 5]
input z: bool[S, N]
input k: i64[]
const far: i64[] = [-9223372036854775808]
a = Trilu(x)
b = Trilu(x, k) {upper=0}
c = Trilu(z, k)
d = Trilu(x, far) {upper=0}
output a: f32[N, S, 5]
output b: f32[N, S, 5]
output c: bool[S, N]
output d: f32[N, S, 5])",
     17, true},
    {"ReverseSequence", R"(input x: f32[4, 3, S]
const l: i64[3] = [0, 4, 2]
const m: i64[4] = [1, 3, 0, 2]
a = ReverseSequence(x, l)
b = ReverseSequence(x, m) {batch_axis=0, time_axis=1}
output a: f32[4, 3, S]
output b: f32[4, 3, S])"},
    {"CumSum", R"(input x: f32[N, 3, S]
input z: i64[N, S]
const last: i64[] = [-1]
const first: i32[1] = [0]
a = CumSum(x, last)
b = CumSum(x, first) {reverse=1}
c = CumSum(x, last) {exclusive=1, reverse=1}
d = CumSum(z, last) {exclusive=1}
e = CumSum(z, first)
output a: f32[N, 3, S]
output b: f32[N, 3, S]
output c: f32[N, 3, S]
output d: i64[N, S]
output e: i64[N, S])",
     17, true},
    {"CumProd", R"(input x: f32[N, S]
const last: i64[] = [1]
a = CumProd(x, last)
b = CumProd(x, last) {exclusive=1}
output a: f32[N, S]
output b: f32[N, S])",
     26, true},
    {"ArgBest", R"(input x: f32[N, 5, S, 3]
input z: i32[N, 37]
a = ArgMax(x) {axis=1, keepdims=0}
b = ArgMin(x) {axis=-1}
c = ArgMax(x) {axis=1, select_last_index=1}
d = ArgMin(z) {axis=1, select_last_index=1}
e = ArgMax(z) {axis=-1, keepdims=0}
output a: i64[N, S, 3]
output b: i64[N, 5, S, 1]
output c: i64[N, 1, S, 3]
output d: i64[N, 1]
output e: i64[N])",
     17, true},
    {"ArgBestOfRows", R"(input x: f32[N, 45]
input z: u8[N, 45]
a = ArgMax(x) {axis=1}
b = ArgMin(x) {axis=1, select_last_index=1, keepdims=0}
c = ArgMax(z) {axis=1}
output a: i64[N, 1]
output b: i64[N]
output c: i64[N, 1])",
     17, true},
    {"TopK", R"(input x: f32[N, 9, S]
input z: i64[N, 20]
const three: i64[1] = [3]
const nine: i64[1] = [9]
const none: i64[1] = [0]
a, b = TopK(x, three) {axis=1}
c, d = TopK(x, nine) {axis=1, largest=0}
e, f = TopK(z, three) {largest=0}
_, g = TopK(z, nine)
h, _ = TopK(z, none)
output a: f32[N, 3, S]
output b: i64[N, 3, S]
output c: f32[N, 9, S]
output d: i64[N, 9, S]
output e: i64[N, 3]
output f: i64[N, 3]
output g: i64[N, 9]
output h: i64[N, 0])",
     17, true},
    {"TopKOfLongRows", R"(input x: f32[N, 700]
input y: i32[N, 700, S]
input z: i64[N, 300]
const one: i64[1] = [1]
const twenty: i64[1] = [20]
const many: i64[1] = [250]
const all: i64[1] = [300]
a, b = TopK(x, twenty)
c, d = TopK(x, many) {largest=0, sorted=0}
e, f = TopK(y, twenty) {axis=1, largest=0}
g, _ = TopK(y, one) {axis=-2}
h, i = TopK(z, twenty)
j, k = TopK(z, all) {largest=0}
output a: f32[N, 20]
output b: i64[N, 20]
output c: f32[N, 250]
output d: i64[N, 250]
output e: i32[N, 20, S]
output f: i64[N, 20, S]
output g: i32[N, 1, S]
output h: i64[N, 20]
output i: i64[N, 20]
output j: i64[N, 300]
output k: i64[N, 300])",
     17, true, 300},
    {"NonZero", R"(input x: f32[N, 3, S]
input z: i64[S, N]
input b: bool[N, S]
input u: u8[S]
input h: f16[N, S, 2, 2]
input s: f32[]
const none: f32[] = [0]
e = Relu(x)
a = NonZero(e)
c = NonZero(z)
d = NonZero(b)
f = NonZero(u)
g = NonZero(h)
i = NonZero(s)
w = Mul(x, none)
j = NonZero(w)
l = Cast(z) {to=5}
k = NonZero(l)
output a: i64[3, ?]
output c: i64[2, ?]
output d: i64[2, ?]
output f: i64[1, ?]
output g: i64[4, ?]
output i: i64[0, ?]
output j: i64[3, ?]
output k: i64[2, ?])",
     17, true},
    {"LpPool", R"(input x: f32[N, 3, 9, S]
input z: f32[N, 2, S]
input v: f32[N, 1, 5, 4, S]
a = LpPool(x) {kernel_shape=[3, 2], strides=[2, 1], pads=[1, 1, 1, 1]}
b = LpPool(x) {kernel_shape=[2, 1], p=1}
c = LpPool(z) {kernel_shape=[1], p=3}
d = LpPool(v) {kernel_shape=[2, 2, 1], strides=[2, 1, 1], auto_pad="SAME_UPPER"}
output a: f32[N, 3, ?, ?]
output b: f32[N, 3, 8, S]
output c: f32[N, 2, S]
output d: f32[N, 1, 3, 4, S])",
     17, true, 3, 1},
    {"MaxUnpool", R"(input x: f32[N, 3, 9, S]
input z: f32[2, 2, 6, 8]
const larger: i64[4] = [2, 2, 7, 9]
a, i = MaxPool(x) {kernel_shape=[3, 1], strides=[2, 1]}
b = MaxUnpool(a, i) {kernel_shape=[3, 1], strides=[2, 1]}
c, j = MaxPool(z) {kernel_shape=[2, 2], strides=[2, 2]}
d = MaxUnpool(c, j) {kernel_shape=[2, 2], strides=[2, 2]}
e = MaxUnpool(c, j, larger) {kernel_shape=[2, 2], strides=[2, 2]}
output b: f32[N, 3, 9, S]
output d: f32[2, 2, 6, 8]
output e: f32[2, 2, 7, 9])",
     17, true, 3, 1},
    {"RoiAlign", R"(input x: f32[2, 5, 9, S]
input r: f32[N, 4]
input i: i64[N]
const two: i64[] = [2]
const six: f32[] = [6]
j = Mod(i, two)
q = Mul(r, six)
a = RoiAlign(x, q, j) {output_height=3, output_width=2, sampling_ratio=2}
b = RoiAlign(x, q, j) {output_height=2, output_width=3, spatial_scale=1.5, mode="max"}
c = RoiAlign(x, q, j) {coordinate_transformation_mode="output_half_pixel"}
d = RoiAlign(x, q, j) {sampling_ratio=17}
output a: f32[N, 5, 3, 2]
output b: f32[N, 5, 2, 3]
output c: f32[N, 5, 1, 1]
output d: f32[N, 5, 1, 1])"},
    {"Remainder", R"(input x: f32[N, 1, S]
input z: f32[N, 1]
const large: f32[] = [3e9]
const small: f32[] = [1e-3]
const three: f32[] = [-3]
b = Mul(x, large)
c = Mul(z, small)
d = Mod(x, z) {fmod=1}
e = Mod(z, x) {fmod=1}
f = Mod(b, z) {fmod=1}
g = Mod(b, c) {fmod=1}
h = Mod(b, three) {fmod=1}
output d: f32[N, N, S]
output e: f32[N, N, S]
output f: f32[N, N, S]
output g: f32[N, N, S]
output h: f32[N, 1, S])",
     17, true},
    {"Integers", R"(input x: i64[N, 1, S]
input z: i64[N, 1]
const two: i64[] = [2]
a = Add(x, z)
b = Sub(z, x)
c = Mul(x, x)
d = Div(x, z)
e = Mod(x, z)
f = Mod(z, x) {fmod=1}
g = Min(x, z)
h = Max(two, x)
i = Neg(x)
j = Abs(x)
output a: i64[N, N, S]
output b: i64[N, N, S]
output c: i64[N, 1, S]
output d: i64[N, N, S]
output e: i64[N, N, S]
output f: i64[N, N, S]
output g: i64[N, N, S]
output h: i64[N, 1, S]
output i: i64[N, 1, S]
output j: i64[N, 1, S])"},
    {"NarrowIntegers", R"(input x: i32[N, S]
input y: i8[N, S]
input z: u8[N, S]
const big: i32[] = [2147483647]
const low: i8[] = [-128]
const high: u8[] = [250]
a = Add(x, big)
b = Mul(x, big)
c = Sub(y, low)
d = Div(low, y)
e = Add(z, high)
f = Abs(low)
g = Mod(x, big)
h = Equal(y, low)
output a: i32[N, S]
output b: i32[N, S]
output c: i8[N, S]
output d: i8[N, S]
output e: u8[N, S]
output f: i8[]
output g: i32[N, S]
output h: bool[N, S])"},
    {"WhereOfWidths", R"(input c: bool[N, 1]
input x: i64[N, S]
input y: i64[S]
input a: u8[N, S]
input b: u8[1]
input p: bool[N, S]
input q: bool[N, S]
d = Where(c, x, y)
e = Where(c, a, b)
f = Where(p, q, c)
output d: i64[N, S]
output e: u8[N, S]
output f: bool[N, S])"},
    {"CastReals", R"(input x: f32[N, S]
const scale: f32[] = [1e3]
z = Mul(x, scale)
a = Cast(z) {to=6}
b = Cast(z) {to=7}
c = Cast(z) {to=3}
d = Cast(z) {to=2}
e = Cast(z) {to=5}
f = Cast(z) {to=12}
g = Cast(x) {to=11}
h = Cast(g) {to=1}
i = Cast(g) {to=7}
j = Cast(x) {to=9}
output a: i32[N, S]
output b: i64[N, S]
output c: i8[N, S]
output d: u8[N, S]
output e: i16[N, S]
output f: u32[N, S]
output h: f32[N, S]
output i: i64[N, S]
output j: bool[N, S])",
     17, true},
    {"CastIntegers", R"(input x: i64[N, S]
const scale: i64[] = [30011]
z = Mul(x, scale)
a = Cast(z) {to=3}
b = Cast(z) {to=4}
c = Cast(b) {to=5}
d = Cast(z) {to=12}
e = Cast(d) {to=1}
f = Cast(a) {to=11}
g = Cast(z) {to=13}
output a: i8[N, S]
output b: u16[N, S]
output c: i16[N, S]
output d: u32[N, S]
output e: f32[N, S]
output f: f64[N, S]
output g: u64[N, S])"},
};

INSTANTIATE_TEST_SUITE_P(Picks, Steps, ::testing::ValuesIn(kPickCases), [](const auto& made) {
  return std::string(made.param.name);
});

/// The error of a run of a graph whose index is `index`.
std::string error_of(const std::string& node, int64_t index) {
  const Graph g = parse_graph("graph g opset(\"\"=18)\ninput x: f32[3, 4]\ninput i: i64[1, 1]\n" +
                              node + "\noutput y: f32[?, ?]\n")
                      .value();
  auto session = Session::create(g);
  EXPECT_TRUE(session.ok());
  const Tensor x = Tensor::zeros(DType::kFloat32, {3, 4}).value();
  const auto y = session->run(std::vector<Tensor>{x, Tensor::of<int64_t>({1, 1}, {index})});
  return y.ok() ? "" : y.error().text();
}

TEST(Picks, AnIndexOutOfRangeIsAnErrorWithIndexBoundAndNode) {
  for (const std::string node :
       {"y = GatherElements(x, i) {axis=1}", "y = GatherND(x, i)",
        "const u: f32[1, 1] = [1]\ny = ScatterElements(x, i, u) {axis=1}",
        "const u: f32[1, 4] = [1, 2, 3, 4]\ny = ScatterND(x, i, u) {reduction=\"add\"}"}) {
    SCOPED_TRACE(node);
    EXPECT_EQ(error_of(node, 2), "");
    EXPECT_EQ(error_of(node, -3), "");
    for (const int64_t index : {int64_t{4}, int64_t{-5}, std::numeric_limits<int64_t>::min(),
                                std::numeric_limits<int64_t>::max()}) {
      const std::string error = error_of(node, index);
      EXPECT_NE(error.find(std::to_string(index)), std::string::npos) << error;
      EXPECT_NE(error.find("out of range"), std::string::npos) << error;
      EXPECT_NE(error.find("node"), std::string::npos) << error;
    }
  }
}

} // namespace
} // namespace octet

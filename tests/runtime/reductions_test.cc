// SPDX-License-Identifier: Apache-2.0
// Reductions over all kinds of axes, of more outputs than a vector form takes at once; see
// step_cases.h.

#include "runtime/step_cases.h"

namespace octet {
namespace {

const StepCase kReduceCases[] = {
    {"ReduceToRows", R"(input x: f32[N, 5, S, 7]
const planes: i64[2] = [2, 3]
const rest: i64[3] = [1, 2, 3]
a = ReduceMean(x, planes)
b = ReduceSum(x, rest)
c = ReduceMax(x, planes) {keepdims=0}
d = ReduceMin(x, rest)
e = ReduceSumSquare(x, planes)
f = ReduceL1(x, planes)
g = ReduceL2(x, rest)
h = ReduceLogSum(x, planes)
i = ReduceLogSumExp(x, planes)
j = ReduceProd(x, planes)
output a: f32[N, 5, 1, 1]
output b: f32[N, 1, 1, 1]
output c: f32[N, 5]
output d: f32[N, 1, 1, 1]
output e: f32[N, 5, 1, 1]
output f: f32[N, 5, 1, 1]
output g: f32[N, 1, 1, 1]
output h: f32[N, 5, 1, 1]
output i: f32[N, 5, 1, 1]
output j: f32[N, 5, 1, 1])",
     18, true},
    {"ReduceToLines", R"(input x: f32[N, 3, S, 23]
const first: i64[1] = [0]
const middle: i64[2] = [1, 2]
const apart: i64[2] = [0, 2]
a = ReduceMean(x, middle)
b = ReduceSum(x, first)
c = ReduceMax(x, apart) {keepdims=0}
d = ReduceMin(x, first)
e = ReduceSumSquare(x, middle)
f = ReduceL1(x, apart)
g = ReduceL2(x, first)
h = ReduceLogSum(x, middle)
i = ReduceLogSumExp(x, apart)
j = ReduceProd(x, first)
output a: f32[N, 1, 1, 23]
output b: f32[1, 3, S, 23]
output c: f32[3, 23]
output d: f32[1, 3, S, 23]
output e: f32[N, 1, 1, 23]
output f: f32[1, 3, 1, 23]
output g: f32[1, 3, S, 23]
output h: f32[N, 1, 1, 23]
output i: f32[1, 3, 1, 23]
output j: f32[1, 3, S, 23])",
     18, true},
    {"ReduceApartToRows", R"(input x: f32[N, S, 3, 9]
const apart: i64[2] = [1, 3]
const outer: i64[2] = [0, 3]
a = ReduceSum(x, apart)
b = ReduceMax(x, outer)
output a: f32[N, 1, 3, 1]
output b: f32[1, S, 3, 1])",
     18, true},
    {"ReduceLongRows", R"(input x: f32[N, 3, S, 4]
const zero: f32[] = [0]
const planes: i64[2] = [2, 3]
const apart: i64[3] = [0, 2, 3]
n = Min(x, zero)
p = Max(x, zero)
h = Abs(x)
a = ReduceMax(x, planes)
b = ReduceMin(x, planes)
c = ReduceMax(n, planes)
d = ReduceMin(p, planes)
e = ReduceMax(p, apart)
f = ReduceMin(h, apart)
output a: f32[N, 3, 1, 1]
output b: f32[N, 3, 1, 1]
output c: f32[N, 3, 1, 1]
output d: f32[N, 3, 1, 1]
output e: f32[1, 3, 1, 1]
output f: f32[1, 3, 1, 1])",
     18, true},
    {"ReduceIntegers", R"(input x: i64[N, 5, S]
input z: i32[N, S]
const middle: i64[1] = [1]
const last: i64[1] = [-1]
a = ReduceSum(x, middle)
b = ReduceMax(x, last)
c = ReduceProd(x, middle)
d = ReduceMin(z, last) {keepdims=0}
e = ReduceL1(z, last)
f = ReduceSumSquare(z)
output a: i64[N, 1, S]
output b: i64[N, 5, 1]
output c: i64[N, 1, S]
output d: i32[N]
output e: i32[N, 1]
output f: i32[1, 1])",
     18, true, 90},
    {"ReduceCodes", R"(input x: u8[N, 5, S]
input z: i8[S, 3, 40]
const middle: i64[1] = [1]
const last: i64[1] = [-1]
const apart: i64[2] = [0, 2]
a = ReduceMax(x, middle)
b = ReduceMin(x, last)
c = ReduceMax(x, apart) {keepdims=0}
d = ReduceMin(z, middle) {keepdims=0}
e = ReduceMax(z, apart)
f = ReduceMin(z)
output a: u8[N, 1, S]
output b: u8[N, 5, 1]
output c: u8[5]
output d: i8[S, 40]
output e: i8[1, 3, 1]
output f: i8[1, 1, 1])",
     18, true, 90},
    {"ReduceOldForms", R"(input x: f32[N, S, 3]
a = ReduceProd(x) {axes=[1]}
b = ReduceL2(x) {axes=[-1], keepdims=0}
c = ReduceLogSumExp(x)
output a: f32[N, 1, 3]
output b: f32[N, S]
output c: f32[1, 1, 1])",
     13, true},
};

INSTANTIATE_TEST_SUITE_P(Reductions,
                         Steps,
                         ::testing::ValuesIn(kReduceCases),
                         [](const auto& made) { return std::string(made.param.name); });

} // namespace
} // namespace octet

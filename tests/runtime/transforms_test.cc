// SPDX-License-Identifier: Apache-2.0
// DFT and STFT; see step_cases.h.
#include "runtime/step_cases.h"

namespace octet {
namespace {

const StepCase kTransformCases[] = {
    {"DftByAttribute", R"(input x: f32[N, S, 3, 2]
input r: f32[N, 6, S, 1]
const long: i64[] = [10]
const short: i32[] = [5]
a = DFT(x) {axis=1}
b = DFT(x) {axis=2, inverse=1}
c = DFT(r, long) {axis=1, onesided=1}
d = DFT(r, short) {axis=1}
e = DFT(r) {axis=2}
f = DFT(r) {axis=1, inverse=1}
g = DFT(r) {axis=1, inverse=1, onesided=1}
h = DFT(x, long) {axis=1, inverse=1, onesided=1}
output g: f32[N, 10, S, 1]
output h: f32[N, 10, 3, 1]
output a: f32[N, S, 3, 2]
output b: f32[N, S, 3, 2]
output c: f32[N, 6, S, 2]
output d: f32[N, 5, S, 2]
output e: f32[N, 6, S, 2]
output f: f32[N, 6, S, 2])",
     17, true, 3, 1},
    {"DftByInput", R"(input x: f32[N, 9, S, 2]
input r: f32[N, S, 1]
const length: i64[] = [12]
const axis: i64[] = [1]
a = DFT(x, _, axis)
b = DFT(r)
c = DFT(x, length, axis) {inverse=1}
output a: f32[N, 9, S, 2]
output b: f32[N, S, 2]
output c: f32[N, 12, S, 2])",
     20, true, 3, 1},
    {"Stft", R"(input x: f32[N, 40]
input z: f32[N, 40, 2]
input w: f32[16]
const step: i64[] = [5]
const length: i32[] = [15]
a = STFT(x, step, w)
b = STFT(x, step, _, length) {onesided=0}
c = STFT(z, step, w) {onesided=0}
output a: f32[N, 5, 9, 2]
output b: f32[N, 6, 15, 2]
output c: f32[N, 5, 16, 2])",
     17, true, 3, 1},
    {"StftOfOpenSignals", R"(input x: f32[N, S, 1]
input w: f32[1]
const step: i64[] = [2]
y = STFT(x, step, w)
output y: f32[N, F, 1, 2])",
     17, false, 3, 1},
};

INSTANTIATE_TEST_SUITE_P(Transforms,
                         Steps,
                         ::testing::ValuesIn(kTransformCases),
                         [](const auto& made) { return std::string(made.param.name); });

} // namespace
} // namespace octet

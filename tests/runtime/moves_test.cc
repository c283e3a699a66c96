// SPDX-License-Identifier: Apache-2.0
// Operators that move and interpolate elements; see step_cases.h.
#include "runtime/step_cases.h"

namespace octet {
namespace {

const StepCase kMoveCases[] = {
    {"SliceByAttributes", R"(input x: f32[N, 3, S, 5]
y = Slice(x) {starts=[1, -4], ends=[3, 100], axes=[1, 3]}
z = Slice(x) {starts=[0, 1], ends=[9, 2]}
output y: f32[N, 2, S, 4]
output z: f32[N, 1, S, 5])",
     9, true},
    {"PadConstant", R"(input x: f32[N, 3, S, 5]
input f: f32[]
const p: i64[8] = [0, 1, 2, -1, 1, 0, 3, 2]
const q: i64[8] = [0, 0, -1, 40, 0, 0, 1, 0]
a = Pad(x, p)
b = Pad(a, q, f)
output b: f32[?, 4, ?, ?])",
     17, true},
    {"PadReflect", R"(input x: f32[N, 3, S, 5]
const p: i64[8] = [0, 1, 0, 3, 0, 2, 0, -2]
y = Pad(x, p) {mode="reflect"}
output y: f32[N, 6, S, 6])"},
    {"PadEdge", R"(input x: i64[3, N, S]
const p: i64[6] = [1, 2, 3, 0, 1, 70]
y = Pad(x, p) {mode="edge"}
output y: i64[4, ?, ?])"},
    {"PadWrap", R"(input x: u8[N, S, 4]
const p: i64[4] = [1, 5, 2, -1]
const d: i64[2] = [-2, 2]
y = Pad(x, p, _, d) {mode="wrap"}
output y: u8[N, ?, 8])",
     19},
    {"PadTruth", R"(input x: bool[N, S]
const p: i64[4] = [1, 0, 0, 2]
const f: bool[] = [1]
y = Pad(x, p, f)
output y: bool[?, ?])",
     17},
    {"PadByAttributes", R"(input x: f32[N, S]
y = Pad(x) {pads=[0, 2, 1, 1], value=-0.5}
output y: f32[?, ?])",
     10, true},
    {"PadNothing", R"(input x: f32[N, S, 2]
const p: i64[6] = [0, 0, 0, 0, 0, 0]
y = Pad(x, p) {mode="reflect"}
z = Neg(y)
output z: f32[N, S, 2])"},
    {"PadByShape", R"(input x: f32[N, S]
const first: i64[1] = [1]
const none: i64[1] = [0]
s = Shape(x)
n = Gather(s, first)
p = Concat(none, none, none, n) {axis=0}
y = Pad(x, p)
output y: f32[N, ?])",
     17},
    {"Tile", R"(input x: f32[N, 1, S]
input z: i8[S, N]
const r: i64[3] = [2, 3, 1]
const t: i64[2] = [1, 4]
const none: i64[2] = [0, 1]
a = Tile(x, r)
b = Tile(z, t)
c = Tile(z, none)
output a: f32[?, 3, S]
output b: i8[S, ?]
output c: i8[0, N])",
     17, true},
    {"TileOfElementsAndRows", R"(input x: f32[N, S, 1]
input z: u8[S, 1, 3]
input b: bool[1, N]
const r: i64[3] = [1, 1, 300]
const t: i64[3] = [1, 2, 3]
const u: i64[3] = [1, 200, 2]
const v: i64[2] = [70, 1]
a = Tile(x, r)
c = Tile(x, t)
d = Tile(z, u)
e = Tile(b, v)
output a: f32[N, S, 300]
output c: f32[N, ?, 3]
output d: u8[S, 200, 6]
output e: bool[70, N])",
     17, true},
    {"ExpandOfElementsAndRows", R"(input x: f32[N, S, 1]
input z: i64[S, 1, 3]
input b: bool[1, N]
const r: i64[3] = [1, 1, 300]
const t: i64[4] = [2, 1, 1, 3]
const u: i64[3] = [1, 200, 1]
const v: i64[2] = [70, 1]
a = Expand(x, r)
c = Expand(x, t)
d = Expand(z, u)
e = Expand(b, v)
output a: f32[N, S, 300]
output c: f32[2, N, S, 3]
output d: i64[S, 200, 3]
output e: bool[70, N])",
     17, true},
    {"DepthToSpace", R"(input x: f32[N, 12, S, 3]
a = DepthToSpace(x) {blocksize=2}
b = DepthToSpace(x) {blocksize=2, mode="CRD"}
c = SpaceToDepth(a) {blocksize=2}
d = SpaceToDepth(a) {blocksize=1}
output a: f32[N, 3, ?, 6]
output b: f32[N, 3, ?, 6]
output c: f32[N, 12, S, 3]
output d: f32[N, 3, ?, 6])",
     17, true},
    {"DepthToSpaceOfCodes", R"(input x: u8[N, 18, S, 2]
a = DepthToSpace(x) {blocksize=3}
output a: u8[N, 2, ?, 6])"},
    {"ResizeNearest", R"(input x: f32[N, 3, S, 5]
const s: f32[4] = [1, 1, 2, 2]
const t: f32[4] = [1, 1, 0.5, 1.7]
a = Resize(x, _, s) {mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"}
b = Resize(x, _, s)
c = Resize(x, _, t) {nearest_mode="ceil", coordinate_transformation_mode="align_corners"}
d = Resize(x, _, s) {nearest_mode="round_prefer_ceil", coordinate_transformation_mode="tf_half_pixel_for_nn"}
output a: f32[N, 3, ?, ?]
output b: f32[N, 3, ?, ?]
output c: f32[N, 3, ?, ?]
output d: f32[N, 3, ?, ?])",
     17, true, 3, 1},
    {"ResizeLinear", R"(input x: f32[N, 3, S, 5]
const s: f32[4] = [1, 1, 2, 2]
const t: f32[4] = [1, 1, 0.5, 3.3]
a = Resize(x, _, s) {mode="linear"}
b = Resize(x, _, s) {mode="linear", coordinate_transformation_mode="align_corners"}
c = Resize(x, _, t) {mode="linear", coordinate_transformation_mode="asymmetric"}
d = Resize(x, _, t) {mode="linear", coordinate_transformation_mode="pytorch_half_pixel"}
output a: f32[N, 3, ?, ?]
output b: f32[N, 3, ?, ?]
output c: f32[N, 3, ?, ?]
output d: f32[N, 3, ?, ?])",
     17, true, 3, 1},
    {"ResizeCubic", R"(input x: f32[N, 2, S, 7]
const s: f32[4] = [1, 1, 1.5, 2]
const t: f32[4] = [1, 2, 0.3, 0.4]
a = Resize(x, _, s) {mode="cubic"}
b = Resize(x, _, s) {mode="cubic", exclude_outside=1, cubic_coeff_a=-0.5}
c = Resize(x, _, t) {mode="cubic", antialias=1}
d = Resize(x, _, t) {mode="linear", antialias=1}
output a: f32[N, 2, ?, ?]
output b: f32[N, 2, ?, ?]
output c: f32[?, ?, ?, ?]
output d: f32[?, ?, ?, ?])",
     18, true, 3, 1},
    {"ResizeCubicWhoseTapsLeaveRowsOut", R"(input x: f32[N, 2, 12, 3]
const sizes: i64[2] = [6, 5]
a = Resize(x, _, _, sizes) {mode="cubic", antialias=1, axes=[2, 3], coordinate_transformation_mode="asymmetric"}
output a: f32[N, 2, 6, 5])",
     18, true, 3, 1},
    {"ResizeBySizes", R"(input x: f32[N, S, 5]
const sizes: i64[2] = [9, 20]
a = Resize(x, _, _, sizes) {mode="linear", axes=[1, 2]}
b = Resize(x, _, _, sizes) {mode="linear", axes=[2, 1]}
c = Resize(x, _, _, sizes) {mode="cubic", axes=[-1, 1], keep_aspect_ratio_policy="not_larger"}
output a: f32[N, 9, 20]
output b: f32[N, 20, 9]
output c: f32[N, ?, ?])",
     18},
    {"ResizeByShape", R"(input x: f32[N, 2, S, 5]
input z: f32[3, 2, S, 11]
const none: f32[0] = []
s = Shape(x)
t = Shape(z)
const a: i64[1] = [0]
const b: i64[1] = [1]
const two: i64[1] = [2]
const four: i64[1] = [3]
n = Gather(s, a)
c = Gather(s, b)
h = Gather(t, two)
w = Gather(t, four)
sizes = Concat(n, c, h, w) {axis=0}
y = Resize(x, none, none, sizes) {mode="linear"}
output y: f32[N, 2, S, 11])"},
    {"ResizeVolume", R"(input x: f32[N, S, 3, 4, 5]
const s: f32[5] = [1, 1, 2, 2, 2]
const t: f32[5] = [1, 1, 2, 1, 2]
a = Resize(x, _, s) {mode="linear"}
b = Resize(x, _, t) {mode="linear"}
output a: f32[N, S, 6, 8, 10]
output b: f32[N, S, 6, 4, 10])"},
    {"ResizeChannelsLast", R"(input x: f32[N, S, 5, 40]
const s: f32[4] = [1, 2, 3, 1]
a = Resize(x, _, s) {mode="linear"}
b = Resize(x, _, s)
output a: f32[N, ?, 15, 40]
output b: f32[N, ?, 15, 40])"},
    {"ResizeBehindPool", R"(input x: f32[N, 20, S, 6]
const s: f32[4] = [1, 1, 2, 2]
p = MaxPool(x) {kernel_shape=[1, 3], strides=[1, 1], pads=[0, 1, 0, 1]}
a = Resize(p, _, s) {mode="linear"}
b = Resize(p, _, s)
c = Add(a, b)
y = MaxPool(c) {kernel_shape=[2, 2]}
output y: f32[N, 20, ?, ?])"},
    {"ResizeNothing", R"(input x: f32[N, S, 3]
const s: f32[3] = [1, 1, 1]
y = Resize(x, _, s) {mode="linear"}
output y: f32[N, S, 3])"},
    {"ResizeOfOpset10", R"(input x: f32[N, 2, S, 3]
const s: f32[4] = [1, 1, 2, 2.5]
a = Resize(x, s) {mode="linear"}
b = Resize(x, s)
output a: f32[N, 2, ?, ?]
output b: f32[N, 2, ?, ?])",
     10},
    {"UpsampleByInput", R"(input x: f32[N, 2, S, 3]
const s: f32[4] = [1, 1, 2, 2]
a = Upsample(x, s) {mode="linear"}
b = Upsample(x, s)
output a: f32[N, 2, ?, ?]
output b: f32[N, 2, ?, ?])",
     9},
    {"UpsampleByAttribute", R"(input x: f32[N, 2, S, 3]
a = Upsample(x) {mode="linear", scales=[1.0, 1.0, 1.5, 2.0]}
b = Upsample(x) {scales=[1.0, 1.0, 2.0, 2.0]}
output a: f32[N, 2, ?, ?]
output b: f32[N, 2, ?, ?])",
     8},
};

INSTANTIATE_TEST_SUITE_P(Moves, Steps, ::testing::ValuesIn(kMoveCases), [](const auto& made) {
  return std::string(made.param.name);
});

} // namespace
} // namespace octet

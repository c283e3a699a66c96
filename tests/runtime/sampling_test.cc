// SPDX-License-Identifier: Apache-2.0
// GridSample: see step_cases.h. Odd values are in images and grids, places beyond the image in all.
#include "runtime/step_cases.h"

namespace octet {
namespace {

const StepCase kSamplingCases[] = {
    {"GridSample", R"(input x: f32[N, 3, 6, 5]
input grid: f32[N, S, 7, 2]
a = GridSample(x, grid) {mode="linear", padding_mode="zeros"}
b = GridSample(x, grid) {mode="linear", padding_mode="border"}
c = GridSample(x, grid) {mode="linear", padding_mode="reflection"}
d = GridSample(x, grid) {mode="nearest", padding_mode="zeros"}
e = GridSample(x, grid) {mode="nearest", padding_mode="border"}
f = GridSample(x, grid) {mode="nearest", padding_mode="reflection"}
g = GridSample(x, grid) {mode="cubic", padding_mode="zeros"}
h = GridSample(x, grid) {mode="cubic", padding_mode="border"}
i = GridSample(x, grid) {mode="cubic", padding_mode="reflection"}
output a: f32[N, 3, S, 7]
output b: f32[N, 3, S, 7]
output c: f32[N, 3, S, 7]
output d: f32[N, 3, S, 7]
output e: f32[N, 3, S, 7]
output f: f32[N, 3, S, 7]
output g: f32[N, 3, S, 7]
output h: f32[N, 3, S, 7]
output i: f32[N, 3, S, 7])",
     20, true},
    {"GridSampleAtCorners", R"(input x: f32[N, 3, 6, 5]
input grid: f32[N, S, 7, 2]
a = GridSample(x, grid) {mode="linear", padding_mode="zeros", align_corners=1}
b = GridSample(x, grid) {mode="linear", padding_mode="border", align_corners=1}
c = GridSample(x, grid) {mode="linear", padding_mode="reflection", align_corners=1}
d = GridSample(x, grid) {mode="nearest", padding_mode="zeros", align_corners=1}
e = GridSample(x, grid) {mode="nearest", padding_mode="border", align_corners=1}
f = GridSample(x, grid) {mode="nearest", padding_mode="reflection", align_corners=1}
g = GridSample(x, grid) {mode="cubic", padding_mode="zeros", align_corners=1}
h = GridSample(x, grid) {mode="cubic", padding_mode="border", align_corners=1}
i = GridSample(x, grid) {mode="cubic", padding_mode="reflection", align_corners=1}
output a: f32[N, 3, S, 7]
output b: f32[N, 3, S, 7]
output c: f32[N, 3, S, 7]
output d: f32[N, 3, S, 7]
output e: f32[N, 3, S, 7]
output f: f32[N, 3, S, 7]
output g: f32[N, 3, S, 7]
output h: f32[N, 3, S, 7]
output i: f32[N, 3, S, 7])",
     20, true},
    {"GridSampleOfAnySize", R"(input x: f32[N, 2, S, 3]
input grid: f32[N, 3, S, 2]
a = GridSample(x, grid) {mode="linear", padding_mode="zeros"}
b = GridSample(x, grid) {mode="linear", padding_mode="border"}
c = GridSample(x, grid) {mode="linear", padding_mode="reflection"}
d = GridSample(x, grid) {mode="nearest", padding_mode="zeros"}
e = GridSample(x, grid) {mode="nearest", padding_mode="border"}
f = GridSample(x, grid) {mode="nearest", padding_mode="reflection"}
g = GridSample(x, grid) {mode="cubic", padding_mode="zeros"}
h = GridSample(x, grid) {mode="cubic", padding_mode="border"}
i = GridSample(x, grid) {mode="cubic", padding_mode="reflection"}
output a: f32[N, 2, 3, S]
output b: f32[N, 2, 3, S]
output c: f32[N, 2, 3, S]
output d: f32[N, 2, 3, S]
output e: f32[N, 2, 3, S]
output f: f32[N, 2, 3, S]
output g: f32[N, 2, 3, S]
output h: f32[N, 2, 3, S]
output i: f32[N, 2, 3, S])",
     20, true, 3, 1},
    {"GridSampleOfOneRow", R"(input x: f32[N, 2, 1, S]
input grid: f32[N, 5, 3, 2]
a = GridSample(x, grid) {mode="linear", padding_mode="zeros"}
b = GridSample(x, grid) {mode="linear", padding_mode="border"}
c = GridSample(x, grid) {mode="linear", padding_mode="reflection"}
d = GridSample(x, grid) {mode="nearest", padding_mode="zeros"}
e = GridSample(x, grid) {mode="nearest", padding_mode="border"}
f = GridSample(x, grid) {mode="nearest", padding_mode="reflection"}
g = GridSample(x, grid) {mode="cubic", padding_mode="zeros"}
h = GridSample(x, grid) {mode="cubic", padding_mode="border"}
i = GridSample(x, grid) {mode="cubic", padding_mode="reflection"}
output a: f32[N, 2, 5, 3]
output b: f32[N, 2, 5, 3]
output c: f32[N, 2, 5, 3]
output d: f32[N, 2, 5, 3]
output e: f32[N, 2, 5, 3]
output f: f32[N, 2, 5, 3]
output g: f32[N, 2, 5, 3]
output h: f32[N, 2, 5, 3]
output i: f32[N, 2, 5, 3])",
     20, true, 3, 1},
    {"GridSampleOfOneElement", R"(input x: f32[N, S, 1, 1]
input grid: f32[N, 5, 3, 2]
a = GridSample(x, grid) {mode="linear", padding_mode="zeros", align_corners=1}
b = GridSample(x, grid) {mode="linear", padding_mode="border", align_corners=1}
c = GridSample(x, grid) {mode="linear", padding_mode="reflection", align_corners=1}
d = GridSample(x, grid) {mode="nearest", padding_mode="zeros", align_corners=1}
e = GridSample(x, grid) {mode="nearest", padding_mode="border", align_corners=1}
f = GridSample(x, grid) {mode="nearest", padding_mode="reflection", align_corners=1}
g = GridSample(x, grid) {mode="cubic", padding_mode="zeros", align_corners=1}
h = GridSample(x, grid) {mode="cubic", padding_mode="border", align_corners=1}
i = GridSample(x, grid) {mode="cubic", padding_mode="reflection", align_corners=1}
output a: f32[N, S, 5, 3]
output b: f32[N, S, 5, 3]
output c: f32[N, S, 5, 3]
output d: f32[N, S, 5, 3]
output e: f32[N, S, 5, 3]
output f: f32[N, S, 5, 3]
output g: f32[N, S, 5, 3]
output h: f32[N, S, 5, 3]
output i: f32[N, S, 5, 3])",
     20, true},
    {"GridSampleAtElements", R"(input x: f32[N, S, 5, 3]
input at: i32[N, 9, 9, 2]
grid = Cast(at) {to=1}
a = GridSample(x, grid) {mode="linear", padding_mode="zeros", align_corners=1}
b = GridSample(x, grid) {mode="linear", padding_mode="border", align_corners=1}
c = GridSample(x, grid) {mode="linear", padding_mode="reflection", align_corners=1}
d = GridSample(x, grid) {mode="nearest", padding_mode="zeros", align_corners=1}
e = GridSample(x, grid) {mode="nearest", padding_mode="border", align_corners=1}
f = GridSample(x, grid) {mode="nearest", padding_mode="reflection", align_corners=1}
g = GridSample(x, grid) {mode="cubic", padding_mode="zeros", align_corners=1}
h = GridSample(x, grid) {mode="cubic", padding_mode="border", align_corners=1}
i = GridSample(x, grid) {mode="cubic", padding_mode="reflection", align_corners=1}
output a: f32[N, S, 9, 9]
output b: f32[N, S, 9, 9]
output c: f32[N, S, 9, 9]
output d: f32[N, S, 9, 9]
output e: f32[N, S, 9, 9]
output f: f32[N, S, 9, 9]
output g: f32[N, S, 9, 9]
output h: f32[N, S, 9, 9]
output i: f32[N, S, 9, 9])",
     20, true},
    {"GridSampleOfImages", R"(input x: f32[N, 3, 6, 5]
input grid: f32[N, S, 7, 2]
a = GridSample(x, grid)
b = GridSample(x, grid) {mode="bilinear", padding_mode="border"}
c = GridSample(x, grid) {mode="bicubic", align_corners=1}
output a: f32[N, 3, S, 7]
output b: f32[N, 3, S, 7]
output c: f32[N, 3, S, 7])",
     16, true},
};

INSTANTIATE_TEST_SUITE_P(Sampling,
                         Steps,
                         ::testing::ValuesIn(kSamplingCases),
                         [](const auto& made) { return std::string(made.param.name); });

} // namespace
} // namespace octet

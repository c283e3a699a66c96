// SPDX-License-Identifier: Apache-2.0
// Softmax along all axes and norms over channels; see step_cases.h.
#include "runtime/step_cases.h"

namespace octet {
namespace {

const StepCase kNormCases[] = {
    {"SoftmaxAlongAnyAxis", R"(input x: f32[N, 21, S, 3]
a = Softmax(x) {axis=1}
b = Softmax(x) {axis=0}
c = Softmax(x) {axis=-2}
d = Softmax(x)
output a: f32[N, 21, S, 3]
output b: f32[N, 21, S, 3]
output c: f32[N, 21, S, 3]
output d: f32[N, 21, S, 3])",
     13, true},
    {"SoftmaxBehindPool", R"(input x: f32[N, 18, S, 6]
p = MaxPool(x) {kernel_shape=[1, 3], pads=[0, 1, 0, 1]}
a = Softmax(p) {axis=1}
b = Softmax(p) {axis=2}
c = Softmax(p) {axis=3}
output a: f32[N, 18, S, 6]
output b: f32[N, 18, S, 6]
output c: f32[N, 18, S, 6])"},
    {"SoftmaxOfOpset11", R"(input x: f32[N, 9, 1, 1]
input z: f32[N, S]
a = Softmax(x)
b = Softmax(z)
output a: f32[N, 9, 1, 1]
output b: f32[N, S])",
     11},
    {"InstanceNormalization", R"(input x: f32[N, 3, S, 5]
input z: f32[N, 4]
const g: f32[3] = [0.5, -1, 2]
const b: f32[3] = [0, 0.25, -0.0]
input h: f32[4]
const c: f32[4] = [0, 0.25, -0.5, 1]
y = InstanceNormalization(x, g, b)
w = InstanceNormalization(z, h, c) {epsilon=0.01}
output y: f32[N, 3, S, 5]
output w: f32[N, 4])",
     17, true},
    {"GroupNormalization", R"(input x: f32[N, 6, S, 5]
const g: f32[6] = [0.5, -1, 2, 1, 1, 3]
const b: f32[6] = [0, 0.25, -0.5, 1, 2, 0]
y = GroupNormalization(x, g, b) {num_groups=2}
output y: f32[N, 6, S, 5])",
     21},
    {"GroupNormalizationByGroups", R"(input x: f32[N, 6, S]
const g: f32[3] = [0.5, -1, 2]
const b: f32[3] = [0, 0.25, -0.5]
y = GroupNormalization(x, g, b) {num_groups=3}
output y: f32[N, 6, S])",
     18},
};

INSTANTIATE_TEST_SUITE_P(Norms, Steps, ::testing::ValuesIn(kNormCases), [](const auto& made) {
  return std::string(made.param.name);
});

} // namespace
} // namespace octet

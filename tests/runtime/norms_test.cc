// SPDX-License-Identifier: Apache-2.0
// Softmax along all axes, norms over channels, and what is written as several operators; see
// step_cases.h.
#include <cmath>

#include "passes/lower/lower.h"
#include "runtime/step_cases.h"

#include "octet/executor.h"
#include "octet/graph_text.h"

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
    {"NormsOfImages", R"(input x: f32[N, 6, S, 5]
const g: f32[6] = [0.5, -1, 2, 1, 1, 3]
const b: f32[6] = [0, 0.25, -0.5, 1, 2, 0]
const h: f32[3] = [1, 0.5, -2]
const c: f32[3] = [0, 0.25, 1]
const split: i64[3] = [0, 3, -1]
p = MaxPool(x) {kernel_shape=[1, 3], pads=[0, 1, 0, 1]}
y = GroupNormalization(p, g, b) {num_groups=2}
z = InstanceNormalization(p, g, b) {epsilon=0.01}
parts = Reshape(p, split)
normed = InstanceNormalization(parts, h, c)
shape = Shape(p)
w = Reshape(normed, shape)
q = MaxPool(w) {kernel_shape=[1, 2]}
output y: f32[N, 6, S, 5]
output z: f32[N, 6, S, 5]
output q: f32[N, 6, S, 4])",
     21, true, 3, 1},
    {"GroupNormalizationByGroups", R"(input x: f32[N, 6, S]
const g: f32[3] = [0.5, -1, 2]
const b: f32[3] = [0, 0.25, -0.5]
y = GroupNormalization(x, g, b) {num_groups=3}
output y: f32[N, 6, S])",
     18},
};

/// Operators that lowering writes as several (passes/lower/parts.h).
const StepCase kParts[] = {
    {"LogSoftmax", R"(input x: f32[N, 5, S, 3]
a = LogSoftmax(x)
b = LogSoftmax(x) {axis=1}
c = LogSoftmax(x) {axis=-2}
output a: f32[N, 5, S, 3]
output b: f32[N, 5, S, 3]
output c: f32[N, 5, S, 3])",
     13, false, 3, 1},
    {"LogSoftmaxOfOpset11", R"(input x: f32[N, 5, S]
a = LogSoftmax(x)
b = LogSoftmax(x) {axis=-1}
output a: f32[N, 5, S]
output b: f32[N, 5, S])",
     11, false, 3, 1},
    {"MeanVarianceNormalization", R"(input x: f32[N, 3, S, 5]
a = MeanVarianceNormalization(x)
b = MeanVarianceNormalization(x) {axes=[1, -1]}
output a: f32[N, 3, S, 5]
output b: f32[N, 3, S, 5])",
     13, false, 3, 1},
    {"LayerNormalizationOverAxes", R"(input x: f32[N, S, 3, 5]
input z: f32[N, 3, 2, 7]
input g: f32[3, 5]
input h: f32[1, 3, 2, 7]
const c: f32[3, 1, 1] = [0.5, -1, 2]
const d: f32[7] = [0, 0.25, -0.5, 1, 2, 3, -4]
a = LayerNormalization(x, g) {axis=2}
b = LayerNormalization(x, g, g) {axis=-2, epsilon=0.01}
e = LayerNormalization(z, h, h) {axis=1}
f = LayerNormalization(z, c, d) {axis=1}
output a: f32[N, S, 3, 5]
output b: f32[N, S, 3, 5]
output e: f32[N, 3, 2, 7]
output f: f32[N, 3, 2, 7])",
     17, true},
    {"LayerNormalizationSpelledOut", R"(input x: f32[N, S, 3, 5]
input g: f32[3, 5]
input h: f32[3, 5]
const eps: f32[] = [0.00001]
const two: f32[] = [2]
m = ReduceMean(x) {axes=[-2, -1]}
d = Sub(x, m)
q = Pow(d, two)
v = ReduceMean(q) {axes=[3, 2]}
e = Add(v, eps)
r = Sqrt(e)
n = Div(d, r)
p = Mul(n, g)
y = Add(p, h)
output y: f32[N, S, 3, 5])",
     13, true},
    {"LpNormalization", R"(input x: f32[N, 3, S]
const zero: f32[1] = [0]
z = Mul(x, zero)
a = LpNormalization(x)
b = LpNormalization(x) {axis=1, p=1}
c = LpNormalization(z) {axis=0}
output a: f32[N, 3, S]
output b: f32[N, 3, S]
output c: f32[N, 3, S])",
     18, false, 3, 1},
    {"LRN", R"(input x: f32[N, 6, S, 5]
a = LRN(x) {size=4, alpha=0.5, beta=0.75, bias=1.5}
b = LRN(x) {size=3, alpha=0.5, beta=0.5}
c = LRN(x) {size=9, alpha=0.1, beta=1.0}
d = LRN(x) {size=1, alpha=2.0, beta=0.3}
output a: f32[N, 6, S, 5]
output b: f32[N, 6, S, 5]
output c: f32[N, 6, S, 5]
output d: f32[N, 6, S, 5])",
     13, false, 3, 1},
    {"BatchNormalizationOfComputed", R"(input x: f32[N, 4, S, 3]
input z: f32[N, 4]
input g: f32[4]
input m: f32[4]
const b: f32[4] = [0, 0.25, -0.5, 1]
const v: f32[4] = [1, 0.25, 0.5, 2]
q = Mul(g, g)
a = BatchNormalization(x, g, b, m, v)
c = BatchNormalization(z, b, g, m, q) {epsilon=0.01}
output a: f32[N, 4, S, 3]
output c: f32[N, 4])",
     15, false, 3, 1},
};

INSTANTIATE_TEST_SUITE_P(Parts, Steps, ::testing::ValuesIn(kParts), [](const auto& made) {
  return std::string(made.param.name);
});

TEST(Parts, AreTheOperator) {
  for (const StepCase& c : kParts) {
    SCOPED_TRACE(c.name);
    const Graph g =
        parse_graph("graph g opset(\"\"=" + std::to_string(c.opset) + ")\n" + c.text + "\n")
            .value();
    const auto lowered = lower(g);
    ASSERT_TRUE(lowered.ok()) << lowered.error().text();
    std::vector<Tensor> inputs;
    for (const ValueId id : g.inputs()) {
      Shape shape;
      for (const Dim& d : *g.value(id).type.shape)
        shape.push_back(d.maybe_value().value_or(3));
      std::vector<float> values(static_cast<size_t>(element_count(shape).value()));
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = 2 * std::sin(0.7F * static_cast<float>(i + 1));
      inputs.push_back(Tensor::of<float>(shape, values));
    }
    const auto want = make_reference_executor(g).value()->run(inputs);
    const auto got = make_reference_executor(lowered->graph).value()->run(inputs);
    ASSERT_TRUE(want.ok() && got.ok());
    for (size_t k = 0; k < want->size(); ++k)
      for (int64_t i = 0; i < (*want)[k].count(); ++i)
        ASSERT_NEAR((*want)[k].at(i), (*got)[k].at(i), 2e-6 * (1 + std::fabs((*want)[k].at(i))))
            << "output " << k << ", element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Norms, Steps, ::testing::ValuesIn(kNormCases), [](const auto& made) {
  return std::string(made.param.name);
});

} // namespace
} // namespace octet

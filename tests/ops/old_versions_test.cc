// SPDX-License-Identifier: Apache-2.0
// Older forms of operators (attributes that became inputs) give what the newer forms give.
#include <numeric>

#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"

namespace octet {
namespace {

struct Pair {
  const char* name;
  int old_opset;
  const char* old_form;
  const char* constants; ///< of the newer form
  const char* new_form;
};

Result<std::vector<Tensor>> run(int opset, const std::string& statements) {
  const Graph graph =
      OCTET_TRY(parse_graph("graph main opset(\"\"=" + std::to_string(opset) +
                            ")\ninput x: f32[2, 3, 4]\n" + statements + "\noutput y: f32[*]\n"));
  std::vector<float> values(24);
  std::iota(values.begin(), values.end(), -7.5F);
  const std::vector<Tensor> inputs = {Tensor::of<float>({2, 3, 4}, values)};
  auto executor = OCTET_TRY(make_reference_executor(graph));
  return executor->run(inputs);
}

class OldVersions : public testing::TestWithParam<Pair> {};

TEST_P(OldVersions, AgreeWithTheNewForm) {
  const Pair& p = GetParam();
  const auto old_result = run(p.old_opset, p.old_form);
  const auto new_result = run(18, std::string(p.constants) + "\n" + p.new_form);
  ASSERT_TRUE(old_result.ok()) << old_result.error().text();
  ASSERT_TRUE(new_result.ok()) << new_result.error().text();
  EXPECT_TRUE((*old_result)[0].identical((*new_result)[0]))
      << to_string((*old_result)[0].shape()) << " and " << to_string((*new_result)[0].shape());
}

const Pair kPairs[] = {
    {"Clip", 7, "y = Clip(x) {min=-1.5, max=2.0}", "const a: f32[] = [-1.5]\nconst b: f32[] = [2]",
     "y = Clip(x, a, b)"},
    {"Slice", 9, "y = Slice(x) {starts=[1, -3], ends=[3, 100], axes=[1, 2]}",
     "const a: i64[2] = [1, -3]\nconst b: i64[2] = [3, 100]\nconst c: i64[2] = [1, 2]",
     "y = Slice(x, a, b, c)"},
    {"Pad", 10, "y = Pad(x) {pads=[0, 1, 0, 0, 0, 2], value=3.0}",
     "const p: i64[6] = [0, 1, 0, 0, 0, 2]\nconst v: f32[] = [3]", "y = Pad(x, p, v)"},
    {"Unsqueeze", 11, "y = Unsqueeze(x) {axes=[0, 2]}", "const a: i64[2] = [0, 2]",
     "y = Unsqueeze(x, a)"},
    {"Squeeze", 11, "z = Unsqueeze(x) {axes=[1]}\ny = Squeeze(z) {axes=[1]}",
     "const a: i64[1] = [1]", "z = Unsqueeze(x, a)\ny = Squeeze(z, a)"},
    {"Split", 11, "z, y = Split(x) {axis=1, split=[1, 2]}", "const s: i64[2] = [1, 2]",
     "z, y = Split(x, s) {axis=1}"},
    {"TopK", 9, "y, i = TopK(x) {axis=2, k=2}", "const k: i64[1] = [2]",
     "y, i = TopK(x, k) {axis=2}"},
    {"Dropout", 10, "y, m = Dropout(x) {ratio=0.5}", "", "y, m = Dropout(x)"},
    {"Softmax", 11, "y = Softmax(x) {axis=2}", "", "y = Softmax(x) {axis=-1}"},
    {"Resize", 10, "const s: f32[3] = [1, 1, 2]\ny = Resize(x, s) {mode=\"nearest\"}",
     "const s: f32[3] = [1, 1, 2]",
     "y = Resize(x, _, s) {mode=\"nearest\", nearest_mode=\"floor\", "
     "coordinate_transformation_mode=\"asymmetric\"}"},
};

INSTANTIATE_TEST_SUITE_P(Ops, OldVersions, testing::ValuesIn(kPairs), [](const auto& param) {
  return std::string(param.param.name);
});

} // namespace
} // namespace octet

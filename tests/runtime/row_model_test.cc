// SPDX-License-Identifier: Apache-2.0
// Models of ai.onnx.ml by their kernel: the reference's bits and labels for any number of rows and
// threads, and no operator by its reference.
#include <algorithm>
#include <limits>

#include "core/philox.h"
#include <gtest/gtest.h>

#include "octet/executor.h"
#include "octet/graph_text.h"
#include "octet/session.h"

namespace octet {
namespace {

struct RowCase {
  const char* name;
  const char* text; ///< nodes that read x: f32[N, 3] or z: f64[N, 3]
};

const RowCase kRowCases[] = {
    {"ClassifierOfText",
     R"(a, b = ai.onnx.ml.TreeEnsembleClassifier(x) {nodes_treeids=[0, 0, 0, 0, 0, 1], nodes_nodeids=[0, 1, 2, 3, 4, 0], nodes_featureids=[0, 2, 0, 0, 0, 0], nodes_modes=["BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF", "LEAF"], nodes_values=[0.1, -0.3, 0.0, 0.0, 0.0, 0.0], nodes_truenodeids=[1, 3, 0, 0, 0, 0], nodes_falsenodeids=[2, 4, 0, 0, 0, 0], class_treeids=[0, 0, 0, 1], class_nodeids=[2, 3, 4, 0], class_ids=[0, 1, 2, 1], class_weights=[0.7, 0.4, 0.9, 0.1], classlabels_strings=["cat", "dog", "owl"], post_transform="SOFTMAX"}
output a: string[N]
output b: f32[N, 3])"},
    {"ClassifierOfNumbers",
     R"(a, b = ai.onnx.ml.TreeEnsembleClassifier(x) {nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[1, 0, 0], nodes_modes=["BRANCH_GT", "LEAF", "LEAF"], nodes_values=[0.1, 0.0, 0.0], nodes_missing_value_tracks_true=[1, 0, 0], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0], class_treeids=[0, 0], class_nodeids=[1, 2], class_ids=[1, 1], class_weights=[0.7, 0.4], classlabels_int64s=[3, 8]}
output a: i64[N]
output b: f32[N, 2])"},
    {"LabelsAlone",
     R"(a = ai.onnx.ml.LinearClassifier(x) {coefficients=[0.5, -0.1, 0.2, 0.4, 0.3, -0.2, -0.6, 0.1, 0.3, 0.2, -0.4, 0.5], intercepts=[0.05, 0.0, 0.1, -0.1], classlabels_ints=[1, 0, 7, 9]}
_, c = ai.onnx.ml.LinearClassifier(x) {coefficients=[0.5, -0.1, 0.2], intercepts=[0.05], classlabels_strings=["b", "a"]}
output a: i64[N]
output c: f32[N, 2])"},
    {"Regressor",
     R"(a = ai.onnx.ml.TreeEnsembleRegressor(x) {nodes_treeids=[0, 0, 0, 1], nodes_nodeids=[0, 1, 2, 0], nodes_featureids=[2, 0, 0, 0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF", "LEAF"], nodes_values=[0.1, 0.0, 0.0, 0.0], nodes_truenodeids=[1, 0, 0, 0], nodes_falsenodeids=[2, 0, 0, 0], target_treeids=[0, 0, 1], target_nodeids=[1, 2, 0], target_ids=[0, 1, 0], target_weights=[0.7, 0.4, 0.1], n_targets=2, aggregate_function="AVERAGE", base_values=[0.5, -0.5]}
output a: f32[N, 2])"},
    {"LinearModels",
     R"(a, b = ai.onnx.ml.LinearClassifier(x) {coefficients=[0.5, -0.1, 0.2], intercepts=[0.05], classlabels_ints=[1, 0]}
c = ai.onnx.ml.LinearRegressor(z) {coefficients=[0.5, -0.1, 0.2, 0.1, 0.3, -0.7], intercepts=[0.05, 0.1], targets=2}
output a: i64[N]
output b: f32[N, 2]
output c: f32[N, 2])"},
    {"SupportVectors",
     R"(a, b = ai.onnx.ml.SVMClassifier(x) {coefficients=[0.5, -0.1, 0.2], support_vectors=[0.1, 0.2, 0.3, -0.1, -0.2, -0.3, 0.5, 0.4, 0.3], vectors_per_class=[2, 1], rho=[0.05], kernel_type="RBF", kernel_params=[0.5, 0.0, 0.0], classlabels_strings=["no", "yes"]}
c = ai.onnx.ml.SVMRegressor(x) {coefficients=[0.5, -0.1], support_vectors=[0.1, 0.2, 0.3, -0.1, -0.2, -0.3], n_supports=2, rho=[0.05], kernel_type="LINEAR", kernel_params=[0.0, 0.0, 0.0]}
output a: string[N]
output b: f32[N, 2]
output c: f32[N, 1])"},
};

class RowCases : public ::testing::TestWithParam<RowCase> {};

Tensor random_rows(DType type, int64_t count, uint64_t seed) {
  Philox random(seed);
  std::vector<double> values;
  for (int64_t i = 0; i < 3 * count; ++i)
    values.push_back(static_cast<double>(static_cast<float>(random.uniform(-1, 1))));
  if (count > 2) values[4] = std::numeric_limits<double>::quiet_NaN();
  return Tensor::from_doubles(type, {count, 3}, values).value();
}

TEST_P(RowCases, KernelsGiveTheReferencesBits) {
  const std::string text = std::string("graph g opset(\"\"=17, \"ai.onnx.ml\"=3)\n") +
                           "input x: f32[N, 3]\ninput z: f64[N, 3]\n" + GetParam().text + "\n";
  const auto model = parse_graph(text);
  ASSERT_TRUE(model.ok()) << model.error().text();
  auto reference = make_reference_executor(*model);
  ASSERT_TRUE(reference.ok()) << reference.error().text();
  for (const int threads : {1, 2}) {
    auto session = Session::create(*model, {.threads = threads});
    ASSERT_TRUE(session.ok()) << session.error().text();
    for (const PlannedNode& node : session->plan())
      EXPECT_NE(node.kernel, "reference") << node.node << ": " << node.why;
    for (const int64_t count : {1, 3, 2500, 0}) {
      const std::vector<Tensor> inputs = {random_rows(DType::kFloat32, count, 3),
                                          random_rows(DType::kFloat64, count, 4)};
      const auto want = (*reference)->run(inputs);
      const auto got = session->run(inputs);
      ASSERT_TRUE(want.ok()) << want.error().text();
      ASSERT_TRUE(got.ok()) << got.error().text();
      for (size_t k = 0; k < want->size(); ++k) {
        const Tensor &a = (*want)[k], &b = (*got)[k];
        ASSERT_EQ(a.shape(), b.shape());
        if (a.type() == DType::kString)
          EXPECT_EQ(a.string_values(), b.string_values());
        else
          EXPECT_TRUE(std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin()))
              << "output " << k << ", " << count << " rows";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RowCases, ::testing::ValuesIn(kRowCases), [](const auto& c) {
  return c.param.name;
});

TEST(RowModels, AScalerIsArithmetic) {
  const auto model =
      parse_graph("graph g opset(\"\"=17, \"ai.onnx.ml\"=3)\ninput x: f32[N, 3]\n"
                  "a = ai.onnx.ml.Scaler(x) {offset=[0.5, -0.1, 0.2], scale=[2.0, 0.3, "
                  "4.0]}\nb = ai.onnx.ml.Scaler(a) {scale=[2.0]}\noutput b: f32[N, 3]\n");
  ASSERT_TRUE(model.ok()) << model.error().text();
  auto session = Session::create(*model);
  ASSERT_TRUE(session.ok()) << session.error().text();
  for (const PlannedNode& node : session->plan())
    EXPECT_NE(node.kernel, "reference") << node.node << ": " << node.why;
  const auto y = session->run(std::vector<Tensor>{random_rows(DType::kFloat32, 2, 3)});
  ASSERT_TRUE(y.ok()) << y.error().text();
  const Tensor x = random_rows(DType::kFloat32, 2, 3);
  const std::vector<double> offset = {0.5, -0.1, 0.2}, scale = {4.0, 0.6, 8.0};
  for (int64_t i = 0; i < 6; ++i) {
    const auto k = static_cast<size_t>(i % 3);
    EXPECT_NEAR((x.at(i) - offset[k]) * scale[k], (*y)[0].at(i), 1e-5);
  }
}

TEST(RowModels, ARowThatIsTooShortIsAnError) {
  const auto model = parse_graph(
      std::string("graph g opset(\"\"=17, \"ai.onnx.ml\"=3)\ninput x: f32[N, F]\n") +
      R"(a = ai.onnx.ml.TreeEnsembleRegressor(x) {nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[2, 0, 0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"], nodes_values=[0.1, 0.0, 0.0], nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0], target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 0], target_weights=[0.7, 0.4], n_targets=1}
output a: f32[N, 1])" +
      "\n");
  ASSERT_TRUE(model.ok()) << model.error().text();
  auto session = Session::create(*model);
  ASSERT_TRUE(session.ok()) << session.error().text();
  EXPECT_TRUE(
      session->run(std::vector<Tensor>{Tensor::zeros(DType::kFloat32, {2, 3}).value()}).ok());
  const auto y = session->run(std::vector<Tensor>{Tensor::zeros(DType::kFloat32, {2, 2}).value()});
  ASSERT_FALSE(y.ok());
  EXPECT_NE(y.error().text().find("feature 2 of rows with 2"), std::string::npos)
      << y.error().text();
}

} // namespace
} // namespace octet

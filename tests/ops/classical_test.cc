// SPDX-License-Identifier: Apache-2.0
// Operators of ai.onnx.ml under attributes that nobody meant, and where they differ from ONNX
// Runtime (docs/numerics.md); classical_peer.py compares the rest.
#include <cmath>
#include <limits>

#include "ops/op_runner.h"

namespace octet::test {
namespace {

constexpr const char* kMl = "ai.onnx.ml";

Attribute floats(std::vector<float> values) {
  return attribute(std::move(values));
}
Attribute ints(std::vector<int64_t> values) {
  return attribute(std::move(values));
}
Attribute strings(std::vector<std::string> values) {
  return attribute(std::move(values));
}

Tensor vector_of(std::vector<float> values) {
  const auto count = static_cast<int64_t>(values.size());
  return Tensor::of<float>({1, count}, std::span<const float>(values));
}

/// x[0] <= 0 ? leaf 1 : leaf 2.
Attributes stump() {
  Attributes out;
  out["nodes_treeids"] = ints({0, 0, 0});
  out["nodes_nodeids"] = ints({0, 1, 2});
  out["nodes_featureids"] = ints({0, 0, 0});
  out["nodes_modes"] = strings({"BRANCH_LEQ", "LEAF", "LEAF"});
  out["nodes_values"] = floats({0, 0, 0});
  out["nodes_truenodeids"] = ints({1, 0, 0});
  out["nodes_falsenodeids"] = ints({2, 0, 0});
  out["target_treeids"] = ints({0, 0});
  out["target_nodeids"] = ints({1, 2});
  out["target_ids"] = ints({0, 0});
  out["target_weights"] = floats({-1, 2});
  out["n_targets"] = attribute(int64_t{1});
  return out;
}

Result<std::vector<Tensor>> regress(const Attributes& attributes, std::vector<float> x) {
  return run_op(kMl, "TreeEnsembleRegressor", attributes, {vector_of(std::move(x))}, 3);
}

void expect_refused(const Result<std::vector<Tensor>>& y, const std::string& word) {
  ASSERT_FALSE(y.ok());
  EXPECT_NE(std::string::npos, y.error().text().find(word)) << y.error().text();
}

TEST(Trees, AStumpDecides) {
  EXPECT_EQ(-1, first(regress(stump(), {0})).at(0));
  EXPECT_EQ(2, first(regress(stump(), {1})).at(0));
  EXPECT_EQ(2, first(regress(stump(), {kNan})).at(0));
}

TEST(Trees, OneThatIsNoneIsRefused) {
  Attributes back = stump();
  back["nodes_modes"] = strings({"BRANCH_LEQ", "BRANCH_LEQ", "LEAF"});
  back["nodes_truenodeids"] = ints({1, 1, 0}); // node 1 is its own child
  back["nodes_falsenodeids"] = ints({2, 2, 0});
  expect_refused(regress(back, {-1}), "leads back");
  Attributes rootless = back;
  rootless["nodes_truenodeids"] = ints({1, 0, 0});
  expect_refused(regress(rootless, {-1}), "no root");
  Attributes twice = stump();
  twice["nodes_nodeids"] = ints({0, 1, 1});
  expect_refused(regress(twice, {-1}), "twice");
  Attributes apart = stump();
  apart["nodes_falsenodeids"] = ints({1, 0, 0});
  expect_refused(regress(apart, {-1}), "two roots");
  Attributes away = stump();
  away["nodes_truenodeids"] = ints({9, 0, 0});
  expect_refused(regress(away, {-1}), "not there");
}

TEST(Trees, ListsThatDoNotFitAreRefused) {
  Attributes shorter = stump();
  shorter["nodes_values"] = floats({0});
  expect_refused(regress(shorter, {0}), "nodes_nodeids");
  Attributes votes = stump();
  votes["target_ids"] = ints({0, 5});
  expect_refused(regress(votes, {0}), "target_ids");
  Attributes nowhere = stump();
  nowhere["target_nodeids"] = ints({1, 7});
  expect_refused(regress(nowhere, {0}), "not there");
  Attributes feature = stump();
  feature["nodes_featureids"] = ints({3, 0, 0});
  expect_refused(regress(feature, {0}), "feature 3");
  Attributes negative = stump();
  negative["nodes_featureids"] = ints({-1, 0, 0});
  expect_refused(regress(negative, {0}), "-1");
  Attributes many = stump();
  many["n_targets"] = attribute(int64_t{1} << 40);
  expect_refused(regress(many, {0}), "n_targets");
  Attributes mode = stump();
  mode["nodes_modes"] = strings({"BRANCH", "LEAF", "LEAF"});
  expect_refused(regress(mode, {0}), "BRANCH");
}

TEST(Trees, TheLargerScoreOfTwoWins) {
  Attributes a = stump();
  for (const char* list : {"treeids", "nodeids", "ids", "weights"})
    a.erase(std::string("target_") + list);
  a["class_treeids"] = ints({0, 0, 0, 0});
  a["class_nodeids"] = ints({1, 1, 2, 2});
  a["class_ids"] = ints({0, 1, 0, 1});
  a["class_weights"] = floats({0.9F, 0.1F, 0.2F, 0.8F});
  a["classlabels_int64s"] = ints({7, 9});
  const auto run = [&](float x) {
    return run_op(kMl, "TreeEnsembleClassifier", a, {vector_of({x})}, 3);
  };
  EXPECT_EQ(7, first(run(-1)).at(0));
  EXPECT_EQ(9, first(run(1)).at(0));
}

TEST(Trees, FiveHasSharedLeavesAndSets) {
  Attributes a;
  a["nodes_featureids"] = ints({0});
  a["nodes_modes"] = attribute(Tensor::of<uint8_t>({1}, {6}));
  a["nodes_splits"] = attribute(Tensor::of<float>({1}, {0}));
  a["nodes_truenodeids"] = ints({0});
  a["nodes_trueleafs"] = ints({1});
  a["nodes_falsenodeids"] = ints({1});
  a["nodes_falseleafs"] = ints({1});
  a["leaf_targetids"] = ints({0, 0});
  a["leaf_weights"] = attribute(Tensor::of<float>({2}, {5, 6}));
  a["membership_values"] = attribute(Tensor::of<float>({3}, {1, 4, kNan}));
  a["tree_roots"] = ints({0});
  a["n_targets"] = attribute(int64_t{1});
  const auto run = [&](float x) { return run_op(kMl, "TreeEnsemble", a, {vector_of({x})}, 5); };
  EXPECT_EQ(5, first(run(4)).at(0));
  EXPECT_EQ(6, first(run(2)).at(0));
  a["nodes_truenodeids"] = ints({-1});
  expect_refused(run(4), "not there");
  a["nodes_truenodeids"] = ints({0});
  a["nodes_trueleafs"] = ints({0}); // the node itself
  expect_refused(run(4), "leads back");
  a["tree_roots"] = ints({3});
  expect_refused(run(4), "tree_roots");
}

TEST(LabelEncoder, KnowsNanAndTheLastOfEqualKeys) {
  Attributes a;
  a["keys_floats"] = floats({kNan, 1, 1});
  a["values_strings"] = strings({"none", "old", "new"});
  const auto run = [&](int64_t version) {
    return first(run_op(kMl, "LabelEncoder", a, {vector_of({kNan, 1, 3})}, version))
        .string_values();
  };
  EXPECT_EQ((std::vector<std::string>{"none", "old", "_Unused"}), run(2));
  EXPECT_EQ((std::vector<std::string>{"none", "new", "_Unused"}), run(4));
}

TEST(LabelEncoder, OfVersionOneGoesBothWays) {
  Attributes a;
  a["classes_strings"] = strings({"a", "b"});
  const Tensor words = Tensor::strings({2}, {"b", "q"}).value();
  const Tensor places = first(run_op(kMl, "LabelEncoder", a, {words}, 1));
  EXPECT_EQ(1, places.at(0));
  EXPECT_EQ(-1, places.at(1));
  const Tensor numbers = Tensor::of<int64_t>({2}, {0, 7});
  EXPECT_EQ((std::vector<std::string>{"a", "_Unused"}),
            first(run_op(kMl, "LabelEncoder", a, {numbers}, 1)).string_values());
}

TEST(Features, WhatIsOutOfRangeIsRefused) {
  expect_refused(run_op(kMl, "ArrayFeatureExtractor", {},
                        {vector_of({1, 2}), Tensor::of<int64_t>({1}, {2})}, 1),
                 "outside");
  expect_refused(
      run_op(kMl, "ArrayFeatureExtractor", {},
             {Tensor::zeros(DType::kFloat32, {3, 0}).value(), Tensor::of<int64_t>({1}, {0})}, 1),
      "outside");
  Attributes categories;
  categories["cats_int64s"] = ints({1, 2});
  categories["zeros"] = attribute(int64_t{0});
  expect_refused(run_op(kMl, "OneHotEncoder", categories, {vector_of({5})}, 1), "category");
  Attributes wide;
  wide["inputdimensions"] = ints({int64_t{1} << 40});
  expect_refused(run_op(kMl, "FeatureVectorizer", wide, {vector_of({5})}, 1), "inputdimensions");
  Attributes rows;
  rows["coefficients"] = floats({1, 2, 3});
  rows["targets"] = attribute(int64_t{-2});
  expect_refused(run_op(kMl, "LinearRegressor", rows, {vector_of({5})}, 1), "targets");
}

TEST(Normalizer, NanIsNeverTheLargest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = Tensor::of<float>({2, 3}, {nan, -3, 2, 4, 1, nan});
  const Tensor y = first(run_op(kMl, "Normalizer", {{"norm", {std::string("MAX")}}}, {x}, 1));
  EXPECT_TRUE(std::isnan(y.at(0)) && std::isnan(y.at(5)));
  EXPECT_EQ(y.at(1), -1.5);
  EXPECT_EQ(y.at(2), 1);
  EXPECT_EQ(y.at(3), 1);
  EXPECT_EQ(y.at(4), 0.25);
}

TEST(Features, EmptyRowsGiveEmptyResults) {
  const Tensor none = Tensor::zeros(DType::kFloat32, {0, 3}).value();
  EXPECT_EQ((Shape{0, 3}), first(run_op(kMl, "Normalizer", {}, {none}, 1)).shape());
  EXPECT_EQ((Shape{0, 1}), first(run_op(kMl, "TreeEnsembleRegressor", stump(), {none}, 3)).shape());
  const Tensor narrow = Tensor::zeros(DType::kFloat32, {2, 0}).value();
  EXPECT_EQ((Shape{2, 0}), first(run_op(kMl, "Normalizer", {}, {narrow}, 1)).shape());
}

TEST(Vectors, ThatDoNotFitAreRefused) {
  Attributes a;
  a["kernel_type"] = attribute(std::string("RBF"));
  a["kernel_params"] = floats({0.5F, 0, 3});
  a["support_vectors"] = floats({1, 2, 3});
  a["coefficients"] = floats({1, 1});
  a["rho"] = floats({0});
  a["classlabels_ints"] = ints({0, 1});
  a["vectors_per_class"] = ints({1, int64_t{1} << 40});
  expect_refused(run_op(kMl, "SVMClassifier", a, {vector_of({1})}, 1), "vectors_per_class");
  a["vectors_per_class"] = ints({1, 1});
  expect_refused(run_op(kMl, "SVMClassifier", a, {vector_of({1})}, 1), "support vectors");
  a["support_vectors"] = floats({1, 2});
  a["rho"] = floats({});
  expect_refused(run_op(kMl, "SVMClassifier", a, {vector_of({1})}, 1), "rho");
  Attributes regressor = a;
  regressor["rho"] = floats({0});
  regressor["n_supports"] = attribute(int64_t{-1});
  expect_refused(run_op(kMl, "SVMRegressor", regressor, {vector_of({1})}, 1), "n_supports");
}

} // namespace
} // namespace octet::test

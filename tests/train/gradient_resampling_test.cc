// SPDX-License-Identifier: Apache-2.0
// The gradient of what changes the sampling of an image.
#include "gradients.h"

namespace octet {
namespace {

using Problem = test::GradientProblem;

class ResamplingGradient : public testing::TestWithParam<Problem> {};

TEST_P(ResamplingGradient, EqualsCentralDifferencesOfTheReference) {
  test::expect_gradients_of_reference(GetParam());
}

TEST_P(ResamplingGradient, HasTheValuesOfTheReference) {
  for (const DType type : {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBfloat16}) {
    SCOPED_TRACE(name(type));
    test::expect_values_of_reference(GetParam(), type);
  }
}

Problem
scaled(const char* name, Shape shape, const char* scales, const char* attributes, int opset = 19) {
  const std::string rank = std::to_string(shape.size());
  return {name,
          "const s: f32[" + rank + "] = " + scales + "\ny = Resize(x, _, s) {" + attributes + "}",
          {{"x", std::move(shape)}},
          -1.5,
          1.5,
          opset};
}

Problem sized(const char* name, Shape shape, const char* sizes, const char* attributes) {
  const std::string rank = std::to_string(shape.size());
  return {name,
          "const s: i64[" + rank + "] = " + sizes + "\ny = Resize(x, _, _, s) {" + attributes + "}",
          {{"x", std::move(shape)}},
          -1.5,
          1.5,
          19};
}

/// x [1, 2, 4, 3] to [1, 2, 6, 2] or so: no axis by a whole number.
Problem both_ways(const char* name, const char* attributes) {
  return scaled(name, {1, 2, 4, 3}, "[1, 1, 1.6, 0.7]", attributes);
}

const Problem kResize[] = {
    scaled("NearestTwice",
           {1, 2, 3, 2},
           "[1, 1, 2, 3]",
           "coordinate_transformation_mode=\"asymmetric\", nearest_mode=\"floor\""),
    both_ways("Nearest", "mode=\"nearest\""),
    both_ways("NearestPreferCeil", "nearest_mode=\"round_prefer_ceil\""),
    both_ways("NearestFloor", "nearest_mode=\"floor\""),
    both_ways("NearestCeil", "nearest_mode=\"ceil\""),
    both_ways("NearestAsymmetric", "coordinate_transformation_mode=\"asymmetric\""),
    both_ways("Linear", "mode=\"linear\""),
    scaled("LinearTwice", {2, 1, 3, 4}, "[1, 1, 2, 2]", "mode=\"linear\""),
    both_ways("LinearSymmetric",
              "mode=\"linear\", coordinate_transformation_mode=\"half_pixel_symmetric\""),
    both_ways("LinearPytorch",
              "mode=\"linear\", coordinate_transformation_mode=\"pytorch_half_pixel\""),
    both_ways("LinearCorners", "mode=\"linear\", coordinate_transformation_mode=\"align_corners\""),
    both_ways("LinearAsymmetric", "mode=\"linear\", coordinate_transformation_mode=\"asymmetric\""),
    both_ways("LinearExcludeOutside", "mode=\"linear\", exclude_outside=1"),
    both_ways("LinearAntialias", "mode=\"linear\", antialias=1"),
    both_ways("Cubic", "mode=\"cubic\""),
    both_ways("CubicCoefficient", "mode=\"cubic\", cubic_coeff_a=-0.5, exclude_outside=1"),
    both_ways("CubicAntialias", "mode=\"cubic\", antialias=1"),
    both_ways("CubicCorners", "mode=\"cubic\", coordinate_transformation_mode=\"align_corners\""),
    scaled("LinearLong", {2, 130}, "[1, 1.1]", "mode=\"linear\""),
    scaled("CubicLong", {130, 2}, "[0.3, 1]", "mode=\"cubic\", antialias=1"),
    scaled("NearestLong", {1, 140}, "[2, 0.4]", "mode=\"nearest\""),
    scaled("Volume", {1, 1, 2, 3, 2}, "[1, 1, 2, 1.5, 2]", "mode=\"linear\""),
    scaled("OfVersion10", {1, 1, 3, 2}, "[1, 1, 2, 1.5]", "mode=\"linear\"", 11),
    sized("Sizes", {1, 2, 3, 4}, "[1, 2, 5, 3]", "mode=\"linear\""),
    {"AxesNotLarger",
     "const s: i64[2] = [7, 5]\ny = Resize(x, _, _, s) {axes=[-1, 2], mode=\"linear\", "
     "keep_aspect_ratio_policy=\"not_larger\"}",
     {{"x", {1, 2, 3, 4}}},
     -1.5,
     1.5,
     19},
    {"AxesNotSmaller",
     "const s: f32[0] = []\nconst t: i64[2] = [7, 5]\ny = Resize(x, _, s, t) {axes=[3, 2], "
     "mode=\"cubic\", keep_aspect_ratio_policy=\"not_smaller\"}",
     {{"x", {1, 2, 3, 4}}},
     -1.5,
     1.5,
     19},
    {"CropAndResize",
     "const r: f32[8] = [0, 0, 0.2, -0.3, 1, 1, 1.4, 0.8]\nconst s: i64[4] = [1, 1, 5, 4]\n"
     "y = Resize(x, r, _, s) {mode=\"linear\", coordinate_transformation_mode="
     "\"tf_crop_and_resize\", extrapolation_value=10.0}",
     {{"x", {1, 1, 4, 3}}},
     -1.5,
     1.5,
     19},
    {"CropOutside",
     "const r: f32[4] = [2, 0, 3, 1]\nconst s: i64[2] = [3, 4]\n"
     "y = Resize(x, r, _, s) {axes=[2, 3], mode=\"linear\", coordinate_transformation_mode="
     "\"tf_crop_and_resize\"}",
     {{"x", {1, 1, 4, 3}}},
     -1.5,
     1.5,
     19},
    {"SizesOfAnotherTensor",
     "s = Shape(z)\ny = Resize(x, _, _, s) {mode=\"linear\"}",
     {{"x", {1, 1, 2, 3}}, {"z", {1, 1, 4, 4}}},
     -1.5,
     1.5,
     19},
};

const Problem kUpsample[] = {
    {"NearestOfAttribute",
     "y = Upsample(x) {scales=[1.0, 1.0, 2.0, 1.5]}",
     {{"x", {1, 2, 2, 3}}},
     -1.5,
     1.5,
     7},
    {"LinearOfAttribute",
     "y = Upsample(x) {scales=[1.0, 1.0, 2.0, 1.5], mode=\"linear\"}",
     {{"x", {1, 2, 2, 3}}},
     -1.5,
     1.5,
     7},
    {"LinearOfInput",
     "const s: f32[4] = [1, 1, 2, 2.5]\ny = Upsample(x, s) {mode=\"linear\"}",
     {{"x", {1, 2, 2, 3}}},
     -1.5,
     1.5,
     9},
};

/// Places of a grid reach over all edges.
Problem sampled(const char* name, Shape x, Shape grid, const std::string& attributes) {
  return {name,
          "y = GridSample(x, grid) {" + attributes + "}",
          {{"x", std::move(x)}, {"grid", std::move(grid)}},
          -1.5,
          1.5,
          20};
}

std::vector<Problem> grids() {
  std::vector<Problem> out;
  for (const char* mode : {"linear", "nearest", "cubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (const int corners : {0, 1}) {
        const std::string attributes = std::string("mode=\"") + mode + "\", padding_mode=\"" +
                                       padding + "\", align_corners=" + std::to_string(corners);
        const std::string name = std::string(mode) + "_" + padding + std::to_string(corners);
        out.push_back(sampled((name + "_1").c_str(), {2, 2, 4}, {2, 6, 1}, attributes));
        out.push_back(sampled((name + "_2").c_str(), {2, 2, 4, 3}, {2, 3, 3, 2}, attributes));
        out.push_back(sampled((name + "_3").c_str(), {1, 1, 3, 2, 4}, {1, 2, 2, 2, 3}, attributes));
      }
  out.push_back({"AffineGrid",
                 "const s: i64[4] = [2, 1, 2, 3]\ny = AffineGrid(x, s)",
                 {{"x", {2, 2, 3}}},
                 -1.5,
                 1.5,
                 20});
  out.push_back({"AffineGridOfVolumes",
                 "const s: i64[5] = [1, 1, 2, 1, 3]\ny = AffineGrid(x, s) {align_corners=1}",
                 {{"x", {1, 3, 4}}},
                 -1.5,
                 1.5,
                 20});
  return out;
}

INSTANTIATE_TEST_SUITE_P(Grids, ResamplingGradient, testing::ValuesIn(grids()), test::name_of);
INSTANTIATE_TEST_SUITE_P(Resize, ResamplingGradient, testing::ValuesIn(kResize), test::name_of);
INSTANTIATE_TEST_SUITE_P(Upsample, ResamplingGradient, testing::ValuesIn(kUpsample), test::name_of);

} // namespace
} // namespace octet

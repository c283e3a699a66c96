// SPDX-License-Identifier: Apache-2.0
// What the models of ai.onnx.ml share: features, transforms of scores, class labels.
#pragma once

#include <functional>

#include "ops/shared/validate.h"

namespace octet::ml {

/// i32, i64, f32 and f64: what features may be.
inline constexpr TypeSet kFeatureTypes{DType::kInt32, DType::kInt64, DType::kFloat32,
                                       DType::kFloat64};

/// Input 0 as rows of features: [N, F], or [F] as one row. Errors: another rank or type.
Status check_features(const InferContext& ctx);
/// N, as far as it is known.
Dim row_count(const InferContext& ctx);
struct Features {
  int64_t rows = 0, columns = 0;
  std::vector<double> values; ///< [rows, columns]
  std::span<const double> row(int64_t r) const {
    return std::span(values).subspan(static_cast<size_t>(r * columns),
                                     static_cast<size_t>(columns));
  }
};
/// For an input that passed.
Result<Features> features_of(const Tensor& x);

enum class PostTransform { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };
/// The attribute post_transform. Errors: a name that is none.
Result<PostTransform> post_transform_of(const Node& node);
double logistic(double x);
/// In place. Of one score alone only kProbit does anything, as in ONNX Runtime. kSoftmaxZero:
/// scores within 1e-7 of 0 are not exponentiated.
void transform_scores(std::span<double> scores, PostTransform transform);

/// What the one score of a classifier of two classes says of both.
enum class OneScore {
  kProbability, ///< 1 - s and s
  kMargin,      ///< -s and s
};
/// The two scores after the transform; logistic(-s) and logistic(s) for kLogistic.
std::pair<double, double> both_scores(double score, OneScore kind, PostTransform transform);

/// Labels of classes: strings, or integers.
struct Labels {
  std::vector<int64_t> ints;
  std::vector<std::string> strings;

  size_t size() const { return strings.empty() ? ints.size() : strings.size(); }
  DType type() const { return strings.empty() ? DType::kInt64 : DType::kString; }
  /// [N]: the label of each class number, which is below size().
  Result<Tensor> tensor(std::span<const size_t> classes) const;
};
/// Errors: neither attribute, or both.
Result<Labels> labels_of(const Node& node, const char* ints, const char* strings);
/// The number of the largest score, the first of equals; 0 of none.
size_t largest(std::span<const double> scores);

/// Of a classifier: labels [N] and f32 scores [N, width].
std::vector<OutputInfo>
classes_and_scores(const InferContext& ctx, const Labels& labels, size_t width);
std::vector<std::string> strings_of(const Node& node, std::string_view attribute);
/// A list of numbers that newer versions also take as a tensor, `attribute`_as_tensor.
Result<std::vector<double>> numbers_of(const Node& node, const std::string& attribute);

} // namespace octet::ml

// SPDX-License-Identifier: Apache-2.0
#include "ops/ml/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/format.h"
#include "core/philox.h"

namespace octet::ml {
namespace {

/// Where the normal distribution function is p.
double probit(double p) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!(p >= 0 && p <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (p == 0 || p == 1) return p == 0 ? -kInfinity : kInfinity;
  return normal_quantile(p);
}

void softmax(std::span<double> scores, bool keeps_zeros) {
  const double most = *std::max_element(scores.begin(), scores.end());
  constexpr double kZero = 1e-7;
  double sum = 0;
  for (double& s : scores) {
    if (keeps_zeros && std::fabs(s) <= kZero) {
      s *= std::exp(-most);
      continue;
    }
    s = std::exp(s - most);
    sum += s;
  }
  for (double& s : scores)
    s /= sum;
}

} // namespace

Status check_features(const InferContext& ctx) {
  OCTET_TRY(check_count(ctx, 1, 1));
  OCTET_TRY(check_input(ctx, 0, kFeatureTypes));
  return check_rank(ctx, 0, 1, 2);
}

Dim row_count(const InferContext& ctx) {
  const TypeInfo& x = ctx.input(0).type;
  if (!x.has_rank()) return Dim::unknown();
  return x.rank() == 1 ? Dim(1) : (*x.shape)[0];
}

Result<Features> features_of(const Tensor& x) {
  return Features{x.rank() == 1 ? 1 : x.dim(0), x.shape().back(), OCTET_TRY(x.to_doubles())};
}

Result<PostTransform> post_transform_of(const Node& node) {
  const std::string text = node.attr_string("post_transform", "NONE");
  if (text == "NONE") return PostTransform::kNone;
  if (text == "SOFTMAX") return PostTransform::kSoftmax;
  if (text == "LOGISTIC") return PostTransform::kLogistic;
  if (text == "SOFTMAX_ZERO") return PostTransform::kSoftmaxZero;
  if (text == "PROBIT") return PostTransform::kProbit;
  return error("post_transform is \"{}\"; use NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT",
               text);
}

double logistic(double x) {
  const double e = std::exp(-std::fabs(x));
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

void transform_scores(std::span<double> scores, PostTransform transform) {
  if (scores.empty() || (scores.size() == 1 && transform != PostTransform::kProbit)) return;
  switch (transform) {
  case PostTransform::kNone:
    return;
  case PostTransform::kSoftmax:
  case PostTransform::kSoftmaxZero:
    softmax(scores, transform == PostTransform::kSoftmaxZero);
    return;
  case PostTransform::kLogistic:
    std::transform(scores.begin(), scores.end(), scores.begin(), logistic);
    return;
  case PostTransform::kProbit:
    std::transform(scores.begin(), scores.end(), scores.begin(), probit);
    return;
  }
}

std::pair<double, double> both_scores(double score, OneScore kind, PostTransform transform) {
  if (transform == PostTransform::kLogistic) return {logistic(-score), logistic(score)};
  if (transform == PostTransform::kProbit) return {probit(1 - score), probit(score)};
  return {kind == OneScore::kProbability ? 1 - score : -score, score};
}

Result<Tensor> Labels::tensor(std::span<const size_t> classes) const {
  const Shape shape = {static_cast<int64_t>(classes.size())};
  if (strings.empty()) {
    std::vector<int64_t> values;
    for (const size_t c : classes)
      values.push_back(ints[c]);
    return Tensor::of<int64_t>(shape, values);
  }
  std::vector<std::string> values;
  for (const size_t c : classes)
    values.push_back(strings[c]);
  return Tensor::strings(shape, std::move(values));
}

Result<Labels> labels_of(const Node& node, const char* ints, const char* strings) {
  Labels out{node.attr_ints(ints), strings_of(node, strings)};
  if (out.ints.empty() == out.strings.empty())
    return error("give one of {} and {}, and not both", ints, strings);
  return out;
}

size_t largest(std::span<const double> scores) {
  return static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

std::vector<OutputInfo>
classes_and_scores(const InferContext& ctx, const Labels& labels, size_t width) {
  const Dim rows = row_count(ctx), columns(static_cast<int64_t>(width));
  return {one(labels.type(), std::vector<Dim>{rows})[0],
          one(DType::kFloat32, std::vector<Dim>{rows, columns})[0]};
}

std::vector<std::string> strings_of(const Node& node, std::string_view attribute) {
  const Attribute* a = node.attr(attribute);
  const auto* list = a == nullptr ? nullptr : std::get_if<std::vector<std::string>>(&a->value);
  return list == nullptr ? std::vector<std::string>() : *list;
}

Result<std::vector<double>> numbers_of(const Node& node, const std::string& attribute) {
  const Attribute* a = node.attr(attribute + "_as_tensor");
  if (const auto* t = a == nullptr ? nullptr : std::get_if<Tensor>(&a->value))
    return t->to_doubles();
  const std::vector<float> list = node.attr_floats(attribute);
  return std::vector<double>(list.begin(), list.end());
}

} // namespace octet::ml

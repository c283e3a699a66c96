// SPDX-License-Identifier: Apache-2.0
// SVMClassifier (ai.onnx.ml 1). x: [N, F]; outputs [N] labels and scores. With vectors_per_class: a
// score for each pair of classes i < j, the sum of coefficient times kernel over the vectors of
// both, plus rho; it votes for i above 0, else for j, and the class with most votes is the label.
// The scores are those of the pairs, of two classes -s and s; with prob_a and prob_b they are the
// probabilities that fit the pairs best (Wu, Lin, Weng: Probability estimates for multi-class
// classification by pairwise coupling, 2004). Without: coefficients . x + rho for each class.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/format.h"
#include "ops/ml/svm.h"

namespace octet::ml::op_SVMClassifier {
namespace {

struct Attrs {
  SvmKernel kernel;
  Labels labels;
  PostTransform transform = PostTransform::kNone;
  std::vector<double> weights, vectors, rho, a, b;
  std::vector<size_t> begins; ///< by class, and the count of vectors; empty: no vectors
  size_t columns = 0;

  size_t classes() const { return labels.size(); }
  size_t pairs() const { return classes() * (classes() - 1) / 2; }
  bool linear() const { return begins.empty(); }
  /// Scores in a row.
  size_t width() const {
    if (linear() || !a.empty()) return classes();
    return classes() > 2 ? pairs() : 2;
  }
};

/// Sizes of what the vectors come with.
Status check_vectors(const Attrs& a) {
  const size_t vectors = a.begins.back(), classes = a.classes();
  if (a.begins.size() != classes + 1 || classes < 2)
    return error("{} vectors_per_class for {} labels; give one for each of two or more",
                 a.begins.size() - 1, classes);
  if (vectors == 0 || a.vectors.empty() || a.vectors.size() % vectors != 0)
    return error("{} numbers for {} support vectors; give as many for each", a.vectors.size(),
                 vectors);
  if (a.weights.size() < (classes - 1) * vectors || a.rho.size() < a.pairs())
    return error("{} coefficients and {} of rho for {} classes; give {} and {}", a.weights.size(),
                 a.rho.size(), classes, (classes - 1) * vectors, a.pairs());
  if (!a.a.empty() && (a.a.size() < a.pairs() || a.b.size() < a.pairs()))
    return error("{} of prob_a and {} of prob_b; give {} of both", a.a.size(), a.b.size(),
                 a.pairs());
  return ok_status();
}

Result<Attrs> parse(const Node& node) {
  Attrs a{.kernel = OCTET_TRY(svm_kernel_of(node)),
          .labels = OCTET_TRY(labels_of(node, "classlabels_ints", "classlabels_strings")),
          .transform = OCTET_TRY(post_transform_of(node)),
          .weights = doubles_of(node, "coefficients"),
          .vectors = doubles_of(node, "support_vectors"),
          .rho = doubles_of(node, "rho"),
          .a = doubles_of(node, "prob_a"),
          .b = doubles_of(node, "prob_b")};
  constexpr int64_t kMost = int64_t{1} << 31;
  constexpr size_t kMostClasses = 4096;
  if (a.classes() > kMostClasses)
    return error("{} classes; up to {} are read", a.classes(), kMostClasses);
  const auto counts = node.attr_ints("vectors_per_class");
  if (!counts.empty()) {
    a.begins = {0};
    for (const int64_t count : counts) {
      if (count < 0 || count > kMost) return error("vectors_per_class holds {}", count);
      a.begins.push_back(a.begins.back() + static_cast<size_t>(count));
    }
    if (a.begins.back() == 0) a.begins.clear();
  }
  if (!a.linear()) {
    OCTET_TRY(check_vectors(a));
    a.columns = a.vectors.size() / a.begins.back();
    return a;
  }
  if (a.weights.empty() || a.weights.size() % a.classes() != 0 || a.rho.empty())
    return error("{} coefficients for {} labels and {} of rho; give as many for each, and a number",
                 a.weights.size(), a.classes(), a.rho.size());
  a.columns = a.weights.size() / a.classes();
  return a;
}

Result<std::vector<OutputInfo>> infer(const InferContext& ctx) {
  OCTET_TRY(check_features(ctx));
  const Attrs a = OCTET_TRY(parse(ctx.node));
  const TypeInfo& x = ctx.input(0).type;
  if (x.has_rank())
    OCTET_TRY(merge_dims(x.shape->back(), Dim(static_cast<int64_t>(a.columns)),
                         "features and elements of a vector"));
  return classes_and_scores(ctx, a.labels, a.width());
}

/// The scores of the pairs, and the votes of the classes.
std::vector<double>
pair_scores(const Attrs& a, std::span<const double> row, std::vector<double>& votes) {
  const size_t vectors = a.begins.back(), classes = a.classes();
  std::vector<double> kernels;
  for (size_t v = 0; v < vectors; ++v)
    kernels.push_back(a.kernel(row, std::span(a.vectors).subspan(v * a.columns, a.columns)));
  std::vector<double> out;
  votes.assign(classes, 0.0);
  for (size_t i = 0; i < classes; ++i)
    for (size_t j = i + 1; j < classes; ++j) {
      double sum = a.rho[out.size()];
      for (size_t v = a.begins[i]; v < a.begins[i + 1]; ++v)
        sum += a.weights[(j - 1) * vectors + v] * kernels[v];
      for (size_t v = a.begins[j]; v < a.begins[j + 1]; ++v)
        sum += a.weights[i * vectors + v] * kernels[v];
      out.push_back(sum);
      ++votes[sum > 0 ? i : j];
    }
  return out;
}

/// The probabilities p that make sum over i, j of (r_ji p_i - r_ij p_j)^2 least, by the iteration
/// of the paper's algorithm 2. r: [classes, classes], r_ij the probability of i against j.
std::vector<double> couple(const std::vector<double>& r, size_t classes) {
  constexpr int kRounds = 100;
  const double enough = 0.005 / static_cast<double>(classes);
  std::vector<double> q(classes * classes), p(classes, 1 / static_cast<double>(classes)),
      qp(classes);
  for (size_t i = 0; i < classes; ++i)
    for (size_t j = 0; j < classes; ++j) {
      if (i == j) continue;
      q[i * classes + i] += r[j * classes + i] * r[j * classes + i];
      q[i * classes + j] = -r[j * classes + i] * r[i * classes + j];
    }
  for (int round = 0; round < kRounds; ++round) {
    double pqp = 0, worst = 0;
    for (size_t i = 0; i < classes; ++i) {
      qp[i] = 0;
      for (size_t j = 0; j < classes; ++j)
        qp[i] += q[i * classes + j] * p[j];
      pqp += p[i] * qp[i];
    }
    for (const double v : qp)
      worst = std::max(worst, std::fabs(v - pqp));
    if (!(worst >= enough)) break;
    for (size_t i = 0; i < classes; ++i) {
      const double step = (pqp - qp[i]) / q[i * classes + i];
      p[i] += step;
      pqp = (pqp + step * (step * q[i * classes + i] + 2 * qp[i])) / (1 + step) / (1 + step);
      for (size_t j = 0; j < classes; ++j) {
        qp[j] = (qp[j] + step * q[i * classes + j]) / (1 + step);
        p[j] /= 1 + step;
      }
    }
  }
  return p;
}

std::vector<double> probabilities(const Attrs& a, const std::vector<double>& scores) {
  constexpr double kLeast = 1e-7;
  const size_t classes = a.classes();
  std::vector<double> r(classes * classes);
  size_t pair = 0;
  for (size_t i = 0; i < classes; ++i)
    for (size_t j = i + 1; j < classes; ++j, ++pair) {
      const double p = 1 - logistic(scores[pair] * a.a[pair] + a.b[pair]);
      r[i * classes + j] = std::clamp(p, kLeast, 1 - kLeast);
      r[j * classes + i] = 1 - r[i * classes + j];
    }
  return couple(r, classes);
}

/// One row without vectors.
size_t finish_linear(const Attrs& a, std::span<const double> row, std::span<double> scores) {
  for (size_t c = 0; c < a.classes(); ++c)
    scores[c] = SvmKernel{}(row, std::span(a.weights).subspan(c * a.columns, a.columns)) + a.rho[0];
  size_t top = largest(scores);
  if (a.classes() == 2) {
    const bool plus =
        std::all_of(a.weights.begin(), a.weights.end(), [](double w) { return w >= 0; });
    if (plus ? scores[top] >= 0.5 : scores[top] > 0) top = 1;
  }
  transform_scores(scores, a.transform);
  return top;
}

size_t finish(const Attrs& a, std::span<const double> row, std::span<double> scores) {
  if (a.linear()) return finish_linear(a, row, scores);
  std::vector<double> votes, made = pair_scores(a, row, votes);
  if (!a.a.empty()) made = probabilities(a, made);
  if (made.size() == 1) {
    const OneScore kind =
        a.transform == PostTransform::kNone ? OneScore::kMargin : OneScore::kProbability;
    std::tie(scores[0], scores[1]) = both_scores(made[0], kind, a.transform);
  } else {
    std::copy(made.begin(), made.end(), scores.begin());
    transform_scores(scores, a.transform);
  }
  return largest(votes);
}

Result<std::vector<Tensor>> eval(const EvalContext& ctx) {
  return run_rows(infer, ctx);
}

} // namespace

Result<RowModel> model(const Node& node) {
  const Attrs a = OCTET_TRY(parse(node));
  RowModel out{.labels = a.labels,
               .width = a.width(),
               .columns = a.columns,
               .ns = static_cast<double>(std::max(a.vectors.size(), a.weights.size()))};
  out.row = [a](const RowView& row, std::span<double> scores, std::span<Score>) {
    return finish(a, doubles_of(row), scores);
  };
  return out;
}

extern const OpFacets facets = {
    .since = 1,
    .infer = infer,
    .eval = eval,
    .roles = all_data,
    .quant = no_real_output,
    .motion = nothing_moves,
    .range = unbounded,
    .facts = Facts{.optional_outputs = 0b10},
};

} // namespace octet::ml::op_SVMClassifier

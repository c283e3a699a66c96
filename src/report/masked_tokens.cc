// SPDX-License-Identifier: Apache-2.0
#include "octet/masked_tokens.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/format.h"

#include "octet/graph.h"
#include "octet/metrics.h"

namespace octet {
namespace {

constexpr int64_t kTop = 5;

/// log(sum(exp(x))).
double log_sum(std::span<const float> x) {
  const auto largest = static_cast<double>(*std::max_element(x.begin(), x.end()));
  double sum = 0;
  for (const float v : x)
    sum += std::exp(static_cast<double>(v) - largest);
  return largest + std::log(sum);
}

std::map<int64_t, int64_t> frequencies(const std::vector<int64_t>& labels) {
  std::map<int64_t, int64_t> out;
  for (const int64_t label : labels)
    ++out[label];
  return out;
}

} // namespace

std::vector<double> softmax(std::span<const float> scores) {
  std::vector<double> out;
  if (scores.empty()) return out;
  const double log_total = log_sum(scores);
  for (const float v : scores)
    out.push_back(std::exp(static_cast<double>(v) - log_total));
  return out;
}

Status MaskedTokens::add(const Tensor& logits, const Tensor& labels) {
  if (logits.type() != DType::kFloat32 || logits.rank() < 1 || logits.shape().back() < 1)
    return error("logits are {}; a language model has f32[..., vocabulary]",
                 tensor_type(logits.type(), logits.shape()).text());
  const int64_t vocabulary = logits.shape().back();
  if (labels.count() * vocabulary != logits.count())
    return error("logits are {} and there are {} labels; there is a row for each",
                 to_string(logits.shape()), labels.count());
  const std::vector<int64_t> wanted = OCTET_TRY(labels.to_ints());
  const Tensor aligned = logits.aligned();
  const std::span<const float> scores = aligned.data<float>();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] < 0) continue;
    if (wanted[i] >= vocabulary)
      return error("label {} is {}; the model knows the tokens 0 .. {}", i, wanted[i],
                   vocabulary - 1);
    add_row(scores.subspan(i * static_cast<size_t>(vocabulary), static_cast<size_t>(vocabulary)),
            wanted[i]);
  }
  return ok_status();
}

void MaskedTokens::add_row(std::span<const float> scores, int64_t label) {
  const float mine = scores[static_cast<size_t>(label)];
  const auto best = std::max_element(scores.begin(), scores.end());
  int64_t before = 0; // of equal scores the first token counts as better
  for (size_t v = 0; v < scores.size(); ++v)
    before += scores[v] > mine || (scores[v] == mine && v < static_cast<size_t>(label)) ? 1 : 0;
  hits1_ += before == 0 ? 1 : 0;
  hits5_ += before < kTop ? 1 : 0;
  const double loss = log_sum(scores) - static_cast<double>(mine);
  loss_sum_ += loss;
  loss_square_sum_ += loss * loss;
  labels_.push_back(label);
  predictions_.push_back(best - scores.begin());
}

double MaskedTokens::share(int64_t hits) const {
  return labels_.empty() ? 0 : static_cast<double>(hits) / static_cast<double>(count());
}

std::pair<double, double> MaskedTokens::top1_interval() const {
  return wilson_interval(hits1_, count());
}

std::pair<double, double> MaskedTokens::top5_interval() const {
  return wilson_interval(hits5_, count());
}

double MaskedTokens::loss() const {
  return labels_.empty() ? 0 : loss_sum_ / static_cast<double>(count());
}

std::pair<double, double> MaskedTokens::loss_interval() const {
  const auto n = static_cast<double>(count());
  if (n < 2) return {loss(), loss()};
  const double variance = std::max(0.0, (loss_square_sum_ - loss_sum_ * loss()) / (n - 1));
  const double margin = 1.96 * std::sqrt(variance / n);
  return {loss() - margin, loss() + margin};
}

double MaskedTokens::perplexity() const {
  return std::exp(loss());
}

double MaskedTokens::unigram_entropy() const {
  double sum = 0;
  for (const auto& [label, n] : frequencies(labels_))
    sum -= share(n) * std::log(share(n));
  return sum;
}

double MaskedTokens::unigram_top1() const {
  int64_t most = 0;
  for (const auto& [label, n] : frequencies(labels_))
    most = std::max(most, n);
  return share(most);
}

} // namespace octet

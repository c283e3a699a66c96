// SPDX-License-Identifier: Apache-2.0
// What a classifier's scores say of each class.
#include <algorithm>
#include <cmath>

#include "core/format.h"

#include "octet/classification.h"
#include "octet/masked_tokens.h"

namespace octet {
namespace {

/// What only hands its first input on, in another form.
bool hands_on(const Node& node) {
  static constexpr std::string_view kOps[] = {"QuantizeLinear", "DequantizeLinear", "Cast",
                                              "Identity",       "Reshape",          "Flatten",
                                              "Squeeze",        "Unsqueeze"};
  return std::find(std::begin(kOps), std::end(kOps), node.op_type) != std::end(kOps);
}

bool is_probabilities(std::span<const float> row) {
  constexpr double kTolerance = 1e-3;
  double sum = 0;
  for (const float v : row) {
    if (!(v >= 0 && v <= 1)) return false;
    sum += v;
  }
  return std::abs(sum - 1) <= kTolerance;
}

} // namespace

ScoreKind score_kind(const Graph& graph) {
  if (graph.outputs().empty()) return ScoreKind::kLogits;
  ValueId at = graph.outputs()[0];
  for (const Node* node = graph.producer(at); node != nullptr; node = graph.producer(at)) {
    const std::string_view op = node->op_type;
    if ((op.ends_with("Softmax") && op != "LogSoftmax") || op.ends_with("Sigmoid"))
      return ScoreKind::kProbabilities;
    if (!hands_on(*node)) break;
    at = node->input(0);
  }
  return ScoreKind::kLogits;
}

Result<Tensor> probabilities(const Tensor& scores, ScoreKind kind) {
  if (scores.rank() != 2 || scores.dim(1) < 1)
    return error("scores of shape {} are no [n, classes]", to_string(scores.shape()));
  const std::vector<double> values = OCTET_TRY(scores.to_doubles());
  std::vector<float> out(values.begin(), values.end());
  const auto classes = static_cast<size_t>(scores.dim(1));
  for (size_t begin = 0; begin < out.size(); begin += classes) {
    const std::span<float> row(out.data() + begin, classes);
    if (kind == ScoreKind::kProbabilities || is_probabilities(row)) continue;
    const std::vector<double> soft = softmax(row);
    std::copy(soft.begin(), soft.end(), row.begin());
  }
  return Tensor::of<float>(Shape{scores.dim(0), scores.dim(1)}, std::span<const float>(out));
}

} // namespace octet

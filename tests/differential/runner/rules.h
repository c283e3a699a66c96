// SPDX-License-Identifier: Apache-2.0
// How each operator passes errors on, and what its own rounding adds.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "runner/bounds.h"

namespace octet::differential {

/// One node on bounded operands; an empty value stands for an omitted one.
struct Step {
  const Graph& graph;
  const Node& node;
  std::vector<Bounded> in;
  Rounding rounding;

  bool has(size_t i) const { return i < in.size() && !in[i].value.empty(); }
  /// In the file; the walk itself is in double.
  DType type(size_t i) const { return graph.value(node.inputs.at(i)).type.type; }
  /// Values of the operands.
  std::vector<Tensor> values() const;
  /// The node on other operands.
  Result<std::vector<Tensor>> run(std::vector<Tensor> operands) const {
    return run(node, std::move(operands));
  }
  Result<std::vector<Tensor>> run(const Node& other, std::vector<Tensor> operands) const;
  /// A binary operator with ONNX's broadcast.
  Result<Tensor> broadcast(std::string_view op, const Tensor& a, const Tensor& b) const;
};

inline bool is_half(DType type) {
  return type == DType::kFloat16 || type == DType::kBfloat16;
}
/// How far from `v` a number within `error` of it may be once stored in f16 or bf16, or not stored.
double rounded_error(DType type, double v, double error);

using Rule = Result<std::vector<Bounded>>(const Step&);

/// The rule for an operator of ONNX, or null.
Rule* find_rule(std::string_view op);
Rule* find_product_rule(std::string_view op);
Rule* find_elementwise_rule(std::string_view op);
Rule* find_window_rule(std::string_view op);
Rule* find_normalization_rule(std::string_view op);
Rule* find_recurrent_rule(std::string_view op);
Rule* find_code_rule(std::string_view op);

} // namespace octet::differential

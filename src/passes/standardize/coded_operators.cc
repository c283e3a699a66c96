// SPDX-License-Identifier: Apache-2.0
#include "passes/standardize/coded_operators.h"

#include <algorithm>

namespace octet {

bool is_qlinear(const Node& node) {
  return node.domain == kMicrosoft && node.op_type.starts_with("QLinear") &&
         node.op_type != "QLinearConv";
}

std::optional<Patch> decompose_coded_operator(const Graph& graph, const Node& node) {
  for (DecomposeFn* form :
       {decompose_qlinear_conv, decompose_qlinear_matmul, decompose_qgemm,
        decompose_matmul_integer_to_float, decompose_qlinear_pointwise, decompose_qlinear_pool})
    if (auto patch = form(graph, node)) return patch;
  return std::nullopt;
}

namespace {

template <DecomposeFn* kForm>
std::optional<Patch> as_rule(const RuleContext& context, const Node& node) {
  return kForm(context.graph, node);
}

} // namespace

std::vector<Rule> coded_operator_rules() {
  return {{"decompose_qlinear_conv", as_rule<decompose_qlinear_conv>},
          {"decompose_qlinear_matmul", as_rule<decompose_qlinear_matmul>},
          {"decompose_qgemm", as_rule<decompose_qgemm>},
          {"decompose_matmul_integer_to_float", as_rule<decompose_matmul_integer_to_float>},
          {"decompose_qlinear_pointwise", as_rule<decompose_qlinear_pointwise>},
          {"decompose_qlinear_pool", as_rule<decompose_qlinear_pool>}};
}

} // namespace octet

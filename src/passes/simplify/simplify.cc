// SPDX-License-Identifier: Apache-2.0
#include "graph/sizes.h"
#include "ops/declared.h"
#include "passes/rewrite_bodies.h"
#include "passes/simplify/rules.h"
#include "passes/standardize/standard_operators.h"

#include "octet/passes.h"

namespace octet {

namespace {

constexpr Rule kRules[] = {
    {"constant_to_initializer", constant_to_initializer},
    {"eliminate_identity", eliminate_identity},
    {"eliminate_dropout", eliminate_dropout},
    {"fold_if", fold_if},
    {"free_loop_invariants", free_loop_invariants},
    {"fold_shape", fold_shape},
    {"fold_known_elements", fold_known_elements},
    {"fold_constants", fold_constants},
    {"drop_unused_outputs", drop_unused_outputs},
    {"eliminate_same_shape", eliminate_same_shape},
    {"eliminate_neutral", eliminate_neutral},
    {"eliminate_repeated", eliminate_repeated},
    {"sum_to_add", sum_to_add},
    {"cast_like_to_cast", cast_like_to_cast},
    {"merge_casts", merge_casts},
    {"merge_transposes", merge_transposes},
    {"merge_reshapes", merge_reshapes},
    {"fold_reshape_shape", fold_reshape_shape},
    {"fold_expand_shape", fold_expand_shape},
    {"skip_expand", skip_expand},
    {"merge_batched_transpose", merge_batched_transpose},
    {"merge_shape_parts", merge_shape_parts},
    {"fold_ordered_gather", fold_ordered_gather},
    {"eliminate_true", eliminate_true},
    {"eliminate_duplicates", eliminate_duplicates},
    {"fold_batchnorm", fold_batchnorm},
    {"floor_pool", floor_pool},
    {"fold_pad", fold_pad},
    {"order_bias", order_bias},
    {"fold_bias", fold_bias},
    {"fold_scale", fold_scale},
    {"fuse_layer_norm", fuse_layer_norm},
    {"fuse_gelu", fuse_gelu},
    {"merge_attention_scales", merge_attention_scales},
    {"merge_factors", merge_factors},
    {"eliminate_nan_guard", eliminate_nan_guard},
};

/// In the order in which each round of the driver tries them.
std::vector<Rule> rules_for(const SimplifyOptions& options) {
  std::vector<Rule> out(std::begin(kRules), std::end(kRules));
  if (options.training_dropout == TrainingDropout::kRemove)
    out.push_back({"remove_training_dropout", remove_training_dropout});
  if (options.neutral_parameters == NeutralParameters::kEliminate)
    out.push_back({"eliminate_neutral_parameters", eliminate_neutral_parameters});
  if (options.microsoft_operators == MicrosoftOperators::kDecompose)
    for (const Rule& rule : standard_operator_rules())
      out.push_back(rule);
  return out;
}

} // namespace

Result<std::vector<Step>> simplify(Graph& graph, const SimplifyOptions& options) {
  graph.remove_dead();
  std::vector<Rule> rules = rules_for(options);
  for (Rule& rule : rules)
    if (rule.apply == fold_constants && constant_bytes(graph) > kLargeConstantBytes)
      rule.apply = fold_small_constants;
  const DeclaredTypes declared = take_declared_shapes(graph);
  auto steps = rewrite_with_bodies(graph, rules, {.max_steps = options.max_steps});
  fill_in_declared(graph, declared);
  return steps;
}

} // namespace octet

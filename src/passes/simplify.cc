// SPDX-License-Identifier: Apache-2.0
#include "passes/simplify.h"

#include "passes/rules.h"

namespace octet {

namespace {

constexpr Rule kRules[] = {
    {"constant_to_initializer", constant_to_initializer},
    {"eliminate_identity", eliminate_identity},
    {"eliminate_dropout", eliminate_dropout},
    {"fold_shape", fold_shape},
    {"fold_constants", fold_constants},
    {"fold_batchnorm", fold_batchnorm},
};

} // namespace

std::span<const Rule> simplify_rules() {
  return kRules;
}

Result<std::vector<Step>> simplify(Graph& graph, const RewriteOptions& options) {
  graph.remove_dead();
  return rewrite(graph, simplify_rules(), options);
}

} // namespace octet

// SPDX-License-Identifier: Apache-2.0
// simplify: what can be said shorter is said shorter, for inference.
#pragma once

#include "passes/rewrite.h"

namespace octet {

/// What becomes of a Dropout with training_mode = true, which an export in training mode leaves.
enum class TrainingDropout { kKeep, kRemove };

/// What becomes of com.microsoft's attention and normalization operators, which only ONNX Runtime
/// takes.
enum class MicrosoftOperators { kKeep, kDecompose };

/// What becomes of biases of zeros and gains of ones: a model may be trained on, or only run.
enum class NeutralParameters { kKeep, kEliminate };

struct SimplifyOptions {
  RewriteOptions rewrite;
  TrainingDropout training_dropout = TrainingDropout::kKeep;
  MicrosoftOperators microsoft_operators = MicrosoftOperators::kKeep;
  NeutralParameters neutral_parameters = NeutralParameters::kKeep;
};

/// The rules, in the order in which each round of the driver tries them.
std::vector<Rule> simplify_rules(const SimplifyOptions& options = {});

/// Removes what reaches no output, then runs `simplify_rules` to a fixed point. Each step says
/// whether it is exact; none but the removal of dropout changes more than rounding. In a graph with
/// more than 1.5 GiB of constants none is folded into one larger than 4 MiB, so that memory stays
/// bounded.
Result<std::vector<Step>> simplify(Graph& graph, const SimplifyOptions& options = {});

} // namespace octet

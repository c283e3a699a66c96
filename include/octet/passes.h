// SPDX-License-Identifier: Apache-2.0
// Passes over a graph, in place: said shorter for inference, without local functions, without an
// input. What a pass does is a pure function of graph and options.
#pragma once

#include <string>
#include <vector>

#include "octet/graph.h"

namespace octet {

/// Whether a rewrite changes numbers.
enum class Exactness {
  kExact,    ///< every output bit stays
  kRounding, ///< equal in real arithmetic, rounded in another order
  kInexact,  ///< changes the meaning; `Step::why` says how
};

/// One rewrite that was applied.
struct Step {
  int number;       ///< from 1
  std::string rule; ///< `fold_batchnorm`
  std::string node; ///< that it was applied at
  std::string why;
  Exactness exactness;
};

/// What becomes of a Dropout with training_mode = true, which an export in training mode leaves.
enum class TrainingDropout { kKeep, kRemove };

/// What becomes of com.microsoft's attention and normalization operators, which only ONNX Runtime
/// takes.
enum class MicrosoftOperators { kKeep, kDecompose };

/// What becomes of biases of zeros and gains of ones: a model may be trained on, or only run.
enum class NeutralParameters { kKeep, kEliminate };

struct SimplifyOptions {
  int max_steps = -1; ///< stops after so many rewrites (bisecting a wrong one); -1: no limit
  TrainingDropout training_dropout = TrainingDropout::kKeep;
  MicrosoftOperators microsoft_operators = MicrosoftOperators::kKeep;
  NeutralParameters neutral_parameters = NeutralParameters::kKeep;
};

/// Says a graph and its subgraphs shorter, for inference, and returns what was rewritten, in order.
/// Inputs and outputs keep their names and types. None but the removal of dropout changes more than
/// rounding. In a graph with more than 1.5 GiB of constants none is folded into one larger than
/// 4 MiB, so that memory stays bounded.
/// Errors: a cycle, operators whose types contradict each other (with the node), more than 20
/// rewrites a node (a rule that does not converge; a defect of octet).
Result<std::vector<Step>> simplify(Graph& graph, const SimplifyOptions& options = {});

/// Makes calls of local functions the functions' nodes, those in functions and in subgraphs
/// included, and drops the functions and the operator sets that nothing uses any more. Numbers do
/// not change.
///
///     y = local.F(x) {slope=0.1}            t = Mul(x, two)
///     F(a) -> b: t = Mul(a, two)      =>    y = LeakyRelu(t) {alpha=0.1}
///                b = LeakyRelu(t) {alpha=@slope}
///
/// New nodes are named "call/node" and have the call as their origin; ids change. Returns how many
/// calls were replaced. The graph is unchanged on an error. Errors: a function that calls itself,
/// one written for another version of an operator set that its nodes use than the model imports,
/// more than 250,000 nodes, more than 1 GiB of function messages (counted once a call), a broken
/// function.
Result<int> inline_functions(Graph& graph);

/// Replaces the input called `name` by a tensor that holds `value` everywhere, and returns what it
/// was replaced by, in words. Where its shape has open sizes, those are 1 if everything that reads
/// it broadcasts, else they are taken from another input with the same sizes at run time. On an
/// error the graph is as it was, but for types that were inferred. Errors: no such input, an input
/// without a shape, a `value` that its type does not hold or that is an index out of range, open
/// sizes that no other input has.
Result<std::string> drop_input(Graph& graph, const std::string& name, double value);

} // namespace octet

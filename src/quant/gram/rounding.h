// SPDX-License-Identifier: Apache-2.0
// Which codes the weights of a layer take so that its output moves least: sum over outputs of
// d^T G d, where d is what rounding adds to the weights of an output and G comes from the input.
#pragma once

#include <span>
#include <vector>

#include "core/threads.h"
#include "quant/gram/code_grid.h"

namespace octet {

/// One group of a layer's weights. The weights of an output share one step, or have one for each
/// part that its columns are cut into.
struct RoundingProblem {
  int64_t outputs = 0, columns = 0;
  std::vector<double> weights; ///< [outputs, columns]
  std::vector<double> steps;   ///< [outputs, parts], above 0
  std::vector<int64_t> part;   ///< of each column; empty: there is one
  CodeGrid grid;

  double step(int64_t output, int64_t column) const {
    if (part.empty()) return steps[static_cast<size_t>(output)];
    const auto parts = steps.size() / static_cast<size_t>(outputs);
    return steps[static_cast<size_t>(output) * parts +
                 static_cast<size_t>(part[static_cast<size_t>(column)])];
  }
};
/// [outputs, columns], numbers of the grid.
using Codes2d = std::vector<double>;

/// The codes that are nearest to the weights.
Codes2d nearest_codes(const RoundingProblem& problem);
/// Sum over outputs of d^T G d for a Gram matrix [columns, columns].
double output_error(const RoundingProblem& problem,
                    std::span<const double> codes,
                    std::span<const double> gram,
                    ParallelFor& workers);

/// The matrix with share * mean(diagonal) added to its diagonal.
std::vector<double> damped(std::span<const double> gram, int64_t columns, double share);

/// Codes of a column are rounded one after the other, those of the largest diagonal first, and what
/// each rounding does to the output is made up for in the columns behind it: all rows by the
/// Cholesky factor of the inverse of G. G must be positive definite. Source: Frantar et al. 2023
/// (GPTQ), algorithm 1, with the order of columns of its authors' `--act-order`.
Codes2d
gptq_codes(const RoundingProblem& problem, std::span<const double> gram, ParallelFor& workers);

/// From codes that lie beside the weights on either side: as long as moving one code to the other
/// side lowers the error, the one that lowers it most moves; where none does, and there are at most
/// 256 columns, two together.
void descend(const RoundingProblem& problem,
             std::span<const double> gram,
             Codes2d& codes,
             ParallelFor& workers);

/// Each weight goes down or up: h in [0, 1], a rectified sigmoid, is learned by gradient descent on
/// the error with a regularizer that drives it to 0 or 1 (exponent from 20 down to 2), then
/// `descend`. Source: Nagel et al. 2020 (AdaRound), equations 21 to 25; the error of an output is
/// counted against that of nearest codes, so that one weight of the regularizer fits all layers.
Codes2d
adaround_codes(const RoundingProblem& problem, std::span<const double> gram, ParallelFor& workers);

} // namespace octet

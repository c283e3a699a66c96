// SPDX-License-Identifier: Apache-2.0
// Evaluations side by side as an HTML page: the tables, and what they say as bars.
#pragma once

#include <string>
#include <vector>

#include "cli/evaluate.h"
#include "cli/evaluate_lm.h"

namespace octet::cli {

/// `origin`: page_origin(). `classes`: their names. Of what is kept of probabilities comes how
/// reliable they are.
std::string evaluation_page(const std::vector<Evaluation>& results,
                            const Dataset& data,
                            const std::vector<std::string>& classes,
                            const std::string& origin);
std::string evaluation_page(const std::vector<LmEvaluation>& results,
                            const Dataset& data,
                            const std::vector<std::string>& classes,
                            const std::string& origin);

} // namespace octet::cli

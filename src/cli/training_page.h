// SPDX-License-Identifier: Apache-2.0
// How a training went, as an HTML page: curves, what was found, the recipe.
#pragma once

#include <string>
#include <vector>

#include "octet/train.h"

namespace octet::cli {

/// `settings`: the recipe; `origin`: page_origin(). Epochs without finite numbers are in the table
/// alone.
std::string training_page(const std::string& model,
                          const TrainReport& report,
                          const std::vector<RunSetting>& settings,
                          const std::string& origin);

} // namespace octet::cli

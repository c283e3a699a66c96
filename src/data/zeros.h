// SPDX-License-Identifier: Apache-2.0
// Inputs that data has no features for and that begin at zero: the states of a recurrent model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "octet/dataset.h"

namespace octet {

/// The data set with a feature of zeros for each named input of the graph, of the input's type and
/// shape; dimensions that are open are as long as the batch. Its first axis is not the examples'.
/// Errors: no such input, one that the data has, one whose type or rank is not known.
Result<std::shared_ptr<const Dataset>> with_zeros(std::shared_ptr<const Dataset> data,
                                                  const Graph& graph,
                                                  const std::vector<std::string>& inputs);

} // namespace octet

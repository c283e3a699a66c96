// SPDX-License-Identifier: Apache-2.0
// What --drop-input names.
#pragma once

#include <string>

#include "octet/graph.h"

namespace octet::cli {

struct DroppedInput {
  std::string name;
  double value = 0;
  std::string words; ///< what took its place
};

/// `item`: NAME or NAME=VALUE. Errors: no number, and those of drop_input.
Result<DroppedInput> drop_named_input(Graph& graph, const std::string& item);

} // namespace octet::cli

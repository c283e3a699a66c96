// SPDX-License-Identifier: Apache-2.0
#include "cli/drop_inputs.h"

#include <cstdlib>

#include "core/format.h"

#include "octet/passes.h"

namespace octet::cli {

Result<DroppedInput> drop_named_input(Graph& graph, const std::string& item) {
  const size_t equals = item.find('=');
  DroppedInput dropped{.name = item.substr(0, equals), .value = 0, .words = {}};
  if (equals != std::string::npos) {
    const std::string number = item.substr(equals + 1);
    char* end = nullptr;
    dropped.value = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0')
      return error("--drop-input {}: \"{}\" is no number", item, number);
  }
  dropped.words = OCTET_TRY(drop_input(graph, dropped.name, dropped.value));
  return dropped;
}

} // namespace octet::cli
